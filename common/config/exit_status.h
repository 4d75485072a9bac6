// What a program ends with: one convention for servers, jobs and commands.  Scripts and
// Kubernetes' failure policies rely on it; README.md has the table.
#ifndef SIGHTLINE_COMMON_CONFIG_EXIT_STATUS_H_
#define SIGHTLINE_COMMON_CONFIG_EXIT_STATUS_H_

#include "absl/status/status.h"

namespace sightline {

inline constexpr int kSuccess = 0;
// For good: the same command would fail again.
inline constexpr int kFailure = 1;
// The command line or the configuration is wrong; nothing was done.
inline constexpr int kUsageError = 2;
// The same command may succeed, or goes on where it stopped, when it is run again: what failed
// may pass, or somebody has interrupted it (EX_TEMPFAIL).
inline constexpr int kRunAgain = 75;

// kRunAgain for CANCELLED, DEADLINE_EXCEEDED, ABORTED, RESOURCE_EXHAUSTED and UNAVAILABLE, unless
// the error says that no later time is better (GetRetryDelay); kFailure for other errors.
int ExitStatusOf(const absl::Status& status);

// Of a configuration that was not taken: kUsageError, unless reading it may go well another time.
int ExitStatusOfConfiguration(const absl::Status& status);

// The exit status of a whole whose parts ended with these: what is permanent counts before what
// may pass, and that before success.
int Worse(int a, int b);

// For the end of main(): `status`, once all that was printed to standard output has arrived there.
// If it has not, as on a full disk, that is told on stderr, and counts as a part that failed.
int WithOutput(int status);

// From now on SIGTERM and SIGINT end the process at once, with a line on stderr and kRunAgain.  For
// programs that have nothing to put in order, because whatever they write is whole or not there;
// and for those that have (common/rpc/shutdown_signals.h), until they listen.  Without this a
// signal means nothing to the first process of a container.
void EndOnSignals();

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_CONFIG_EXIT_STATUS_H_
