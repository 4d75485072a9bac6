// Which of several processes this one is, and where they meet: what launchers say in the
// environment.
//
//   WORLD_SIZE, RANK           how many processes there are, and the number of this one
//   MASTER_ADDR, MASTER_PORT   where process 0 is met
//   LOCAL_WORLD_SIZE, LOCAL_RANK
//                              how many of them are of this machine, 1 without it, and which of
//                              those this one is; without it what RANK leaves of LOCAL_WORLD_SIZE
//   GLOO_SOCKET_IFNAME         the network interface that they talk through; else the one behind
//                              this machine's name
//   TORCHELASTIC_USE_AGENT_STORE, TORCHELASTIC_RESTART_COUNT
//                              torchrun's: that it keeps the meeting place itself, and how often it
//                              has started the processes before
//
// No torch in here.
#ifndef SIGHTLINE_COMMON_TRAINING_WORLD_OPTIONS_H_
#define SIGHTLINE_COMMON_TRAINING_WORLD_OPTIONS_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"

namespace sightline {

// By default one process, which meets nobody.
struct TrainingWorldOptions {
  int rank = 0;
  int size = 1;
  std::string host;
  int port = 0;
  std::string interface;  // empty: the loopback if all are local, else the one behind this
                          // machine's name
  // Among those of this machine: which of its GPUs this one has.
  int local_rank = 0;
  // Whether all of them are of this machine.
  bool all_local = false;
  // The meeting place is kept by who has started the processes, rather than by process 0, and what
  // they say there has this prefix.
  bool launcher_keeps_store = false;
  std::string prefix;
  // How long the others are waited for: at the start, and in each exchange.
  absl::Duration timeout = absl::Minutes(30);
  // If false, what lies on GPUs goes through the memory of their hosts, though NCCL were there.
  bool may_use_nccl = true;
};

// Most processes.
inline constexpr int kMostProcesses = 1024;

// What `variable` says: the value of the environment's variable of a name, if it is set.  Without
// WORLD_SIZE and RANK one process.  InvalidArgument, naming the variable and its value, for one
// that is missing, no number or out of its range.
absl::StatusOr<TrainingWorldOptions> WorldOptionsOf(
    const std::function<absl::optional<std::string>(const std::string& name)>& variable);

// The same of this process's environment.
absl::StatusOr<TrainingWorldOptions> WorldOptionsOfEnvironment();

// How many processes of this machine LOCAL_WORLD_SIZE says there are, which share its cores; 1
// without it.  Errors likewise.
absl::StatusOr<int> LocalProcesses();

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_TRAINING_WORLD_OPTIONS_H_
