// One child process, and the certainty that it ends: with its owner's object, or with the
// owner's process, however that ends.
//
//   ASSIGN_OR_RETURN(std::unique_ptr<Process> router,
//                    Process::Start({"services/router/router", "--config", file}, "router.log"));
//   router->Signal(SIGSTOP);
//   router->Stop(absl::Seconds(10));
#ifndef SIGHTLINE_LOADTEST_FLEET_PROCESS_H_
#define SIGHTLINE_LOADTEST_FLEET_PROCESS_H_

#include <sys/types.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "common/base/call_context.h"
#include "common/base/mutex.h"

namespace sightline {

// Thread-safe, but for the destructor.
//
// A thread of the object's own starts the child and waits for it: the kernel's promise to
// kill a child with its parent (PR_SET_PDEATHSIG) is about the thread that started it.
// The child is a process group of its own, so Ctrl-C reaches the owner alone; it reads
// nothing, ignores no signal, and inherits the environment but no open file.
class Process {
 public:
  // Runs command[0], a path, with the rest as arguments.  Both of its outputs are appended
  // to the file `log`.  NotFound, PermissionDenied and the like if it cannot be run or the
  // file not be written.
  static absl::StatusOr<std::unique_ptr<Process>> Start(const std::vector<std::string>& command,
                                                        const std::string& log);
  // The same into an open file, which stays the caller's.
  static absl::StatusOr<std::unique_ptr<Process>> StartWithOutput(
      const std::vector<std::string>& command, int output);

  // Kills it if it still runs.
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  // Its number; another process may have it once this one has ended.
  pid_t pid() const { return pid_; }

  // FailedPrecondition if it has ended.
  absl::Status Signal(int signal);

  // What it ended with, as a shell tells it: its exit status, or 128 + signal.  None while
  // it runs.
  absl::optional<int> exit_status() const;
  bool running() const { return !exit_status().has_value(); }

  // User and system time of all its threads so far; none once it has ended.
  absl::optional<absl::Duration> cpu_time() const;

  // Waits for its end, until `deadline` of Clock::Real() at the latest.
  absl::optional<int> Wait(absl::Time deadline = absl::InfiniteFuture()) const;

  // Asks it to end (SIGTERM; a paused one is continued), kills it after `patience`, and
  // returns what it ended with.
  int Stop(absl::Duration patience);

  // Cancelled when it ends, for calls to it that are then in vain.
  const std::shared_ptr<Cancellation>& end() const { return end_; }

 private:
  Process() = default;
  // Whether the child could be run; waits until that is known.
  absl::Status AwaitStart() const;
  // The thread: runs the child, says so in started_, and stays until it has ended.
  void Keep(const std::vector<std::string>& command, int output);

  mutable Mutex mutex_;
  mutable CondVar changed_;
  absl::optional<absl::Status> started_ GUARDED_BY(mutex_);
  absl::optional<int> exit_status_ GUARDED_BY(mutex_);  // without it `pid_` is ours
  pid_t pid_ = -1;                                      // set before started_, and never again
  const std::shared_ptr<Cancellation> end_ = std::make_shared<Cancellation>();
  std::thread keeper_;
};

// "exit status 1", "signal 9 (SIGKILL)".
std::string DescribeExit(int exit_status);

// The last `lines` lines of a log, at most some kilobytes; empty if it cannot be read.
std::string EndOfLog(const std::string& log, int lines);

}  // namespace sightline

#endif  // SIGHTLINE_LOADTEST_FLEET_PROCESS_H_
