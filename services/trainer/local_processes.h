// Several processes of this machine for one command, as launchers start them.
#ifndef SIGHTLINE_SERVICES_TRAINER_LOCAL_PROCESSES_H_
#define SIGHTLINE_SERVICES_TRAINER_LOCAL_PROCESSES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace sightline {

// Runs this program `count` times, 1 to kMostProcesses, with `arguments` (its name is the first),
// each with the variables of common/training/world_options.h in its environment, and waits for all.
// They have this process's standard streams, are told of its SIGTERM and SIGINT, and are ended by
// SIGTERM if it is killed.  If one ends in failure the others are given a while to hear of it and
// are then ended: two seconds for a failure that would come again, else a minute, in which they may
// write a checkpoint.  Any that does not end by SIGTERM then, or by a second signal to this
// process, is killed, seconds later.  Returns the worst of what they ended with (Worse): kRunAgain
// for one that SIGTERM, SIGINT or SIGKILL has ended, kFailure for one that crashed.  Unavailable if
// one cannot be started, after the others have been ended.
//
// Once in a process that has no other children, and from its main thread: the children are ended
// with the thread that started them.
absl::StatusOr<int> RunLocalProcesses(const std::vector<std::string>& arguments, int count);

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_TRAINER_LOCAL_PROCESSES_H_
