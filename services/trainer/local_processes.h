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
// SIGTERM if it is killed; if one ends in failure the others notice and end.  What they ended with,
// the worst of it (Worse); 128 + signal counts as kRunAgain.  Unavailable or Internal if one cannot
// be started, and the others have been ended then.
//
// Call it before anything else has started a thread that holds a lock, and from the main thread:
// the children are ended with the thread that started them.
absl::StatusOr<int> RunLocalProcesses(const std::vector<std::string>& arguments, int count);

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_TRAINER_LOCAL_PROCESSES_H_
