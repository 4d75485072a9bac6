// Beyond those of common/config/command.h.
#ifndef SIGHTLINE_SERVICES_TRAINER_EXIT_STATUS_H_
#define SIGHTLINE_SERVICES_TRAINER_EXIT_STATUS_H_

namespace sightline {

// Work was interrupted by a signal: the same command goes on (EX_TEMPFAIL).
inline constexpr int kRunAgain = 75;

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_TRAINER_EXIT_STATUS_H_
