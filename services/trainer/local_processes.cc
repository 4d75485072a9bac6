#include "services/trainer/local_processes.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/base/clock.h"
#include "common/base/descriptor.h"
#include "common/base/status_macros.h"
#include "common/config/exit_status.h"
#include "common/log/log.h"
#include "common/training/world_options.h"

namespace sightline {
namespace {

constexpr char kThisProgram[] = "/proc/self/exe";

absl::Status Refused(absl::string_view what) {
  return absl::UnavailableError(absl::StrCat(what, ": ", std::generic_category().message(errno)));
}

// One that nobody has now.  Another program may take it before process 0 does, which then says so.
absl::StatusOr<int> FreePort() {
  const Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (socket.get() < 0) return Refused("a port to meet at: no socket");
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  if (::bind(socket.get(), any, length) != 0 || ::getsockname(socket.get(), any, &length) != 0) {
    return Refused("no free port to meet at");
  }
  return ntohs(address.sin_port);
}

std::vector<char*> Pointers(const std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// What of this process's environment the children are not to have: another launcher's words.
bool IsReplaced(absl::string_view entry) {
  static constexpr const char* kReplaced[] = {
      "WORLD_SIZE=",  "LOCAL_WORLD_SIZE=", "RANK=",         "LOCAL_RANK=",
      "MASTER_ADDR=", "MASTER_PORT=",      "TORCHELASTIC_", "GLOO_SOCKET_IFNAME="};
  for (const char* const name : kReplaced) {
    if (absl::StartsWith(entry, name)) return true;
  }
  return false;
}

std::vector<std::string> EnvironmentOf(int rank, int count, int port) {
  std::vector<std::string> variables = {absl::StrCat("WORLD_SIZE=", count),
                                        absl::StrCat("LOCAL_WORLD_SIZE=", count),
                                        absl::StrCat("RANK=", rank),
                                        absl::StrCat("LOCAL_RANK=", rank),
                                        "MASTER_ADDR=127.0.0.1",
                                        absl::StrCat("MASTER_PORT=", port)};
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (!IsReplaced(*variable)) variables.push_back(*variable);
  }
  return variables;
}

// Those that run, the signal that came last, and how many came: a handler may use nothing else.
std::atomic<pid_t> children[kMostProcesses];
std::atomic<int> told{0}, told_times{0};

void TellAll(int signal) {
  for (const std::atomic<pid_t>& child : children) {
    const pid_t pid = child.load();
    if (pid > 0) ::kill(pid, signal);
  }
}

// While it lives SIGTERM and SIGINT are told to the children, and the end of a child is heard of
// whatever this process was started with.
class ForwardedSignals {
 public:
  ForwardedSignals() {
    struct sigaction tell = {}, ordinary = {};
    tell.sa_handler = [](int signal) {
      const int kept = errno;
      told = signal;
      ++told_times;
      TellAll(signal);
      errno = kept;
    };
    ordinary.sa_handler = SIG_DFL;
    ::sigaction(SIGTERM, &tell, &terminate_);
    ::sigaction(SIGINT, &tell, &interrupt_);
    ::sigaction(SIGCHLD, &ordinary, &child_);
  }
  ~ForwardedSignals() {
    ::sigaction(SIGTERM, &terminate_, nullptr);
    ::sigaction(SIGINT, &interrupt_, nullptr);
    ::sigaction(SIGCHLD, &child_, nullptr);
  }
  ForwardedSignals(const ForwardedSignals&) = delete;
  ForwardedSignals& operator=(const ForwardedSignals&) = delete;

 private:
  struct sigaction terminate_ = {}, interrupt_ = {}, child_ = {};
};

// While it lives neither of both comes in this thread: a child is started, or is gone, and known to
// be so.
class BlockedSignals {
 public:
  BlockedSignals() {
    sigset_t both;
    ::sigemptyset(&both);
    ::sigaddset(&both, SIGTERM);
    ::sigaddset(&both, SIGINT);
    ::pthread_sigmask(SIG_BLOCK, &both, &before_);
  }
  ~BlockedSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;

  const sigset_t& before() const { return before_; }

 private:
  sigset_t before_;
};

absl::StatusOr<pid_t> StartOne(const std::vector<char*>& arguments,
                               const std::vector<std::string>& environment,
                               const sigset_t& signals) {
  const std::vector<char*> variables = Pointers(environment);
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) return Refused("another process was not started");
  if (pid > 0) return pid;
  // Only what is safe between fork and exec.
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  // In a group of its own a Ctrl-C comes once, by the parent; a second one would end it at once.
  ::setpgid(0, 0);
  ::signal(SIGTERM, SIG_DFL);
  ::signal(SIGINT, SIG_DFL);
  ::sigprocmask(SIG_SETMASK, &signals, nullptr);
  if (::getppid() == parent) ::execve(kThisProgram, arguments.data(), variables.data());
  constexpr char kLine[] =
      "/proc/self/exe, this program, was not started anew; is /proc mounted?\n";
  (void)!::write(STDERR_FILENO, kLine, sizeof(kLine) - 1);
  ::_exit(kFailure);
}

// What it ended with.  Others, or the kernel for want of memory, may have ended it; a crash would
// come again.
int StatusOf(int rank, int wait_status) {
  if (WIFEXITED(wait_status)) {
    const int status = WEXITSTATUS(wait_status);
    // At once, at a second signal.
    return status == 128 + SIGTERM || status == 128 + SIGINT ? kRunAgain : status;
  }
  const int signal = WTERMSIG(wait_status);
  Log(Severity::kError, "process ended by a signal", {{"rank", rank}, {"signal", signal}});
  return signal == SIGTERM || signal == SIGINT || signal == SIGKILL ? kRunAgain : kFailure;
}

// When those that are left are to be ended.  Those that have met one that has failed hear of its
// end and end by themselves, perhaps with a checkpoint, which a signal would be a second one to;
// those that have yet to meet it wait for `peer_timeout`, and are told.  Nor does a second signal
// to this process leave any that can hear.  One that hangs, or that somebody has stopped, hears
// nothing, and is killed.
class Patience {
 public:
  void Begin(int status) { End(status == kRunAgain ? absl::Minutes(1) : kBetween); }

  void ActIfDue() {
    if (told_times > 1 && tellings_ < kTellings) {
      tellings_ = kTellings;
      End(kBetween);
    }
    if (Now() < next_) return;
    TellAll(tellings_ < kTellings ? SIGTERM : SIGKILL);
    ++tellings_;
    next_ = Now() + kBetween;
  }

 private:
  static constexpr int kTellings = 2;
  static constexpr absl::Duration kBetween = absl::Seconds(2);

  static absl::Time Now() { return Clock::Real()->Now(); }
  void End(absl::Duration grace) { next_ = std::min(next_, Now() + grace); }

  absl::Time next_ = absl::InfiniteFuture();
  int tellings_ = 0;
};

// The next that has ended, not yet reaped.  None if there is no child, which nobody but a debugger
// brings about.
pid_t AwaitOne(Patience* patience) {
  while (true) {
    siginfo_t ended = {};
    if (::waitid(P_ALL, 0, &ended, WEXITED | WNOWAIT | WNOHANG) != 0) {
      if (errno != EINTR) return -1;
    } else if (ended.si_pid != 0) {
      return ended.si_pid;
    } else {
      patience->ActIfDue();
      constexpr timespec kNap = {0, 50'000'000};
      ::nanosleep(&kNap, nullptr);
    }
  }
}

// Waits for all; the worst they ended with.
int AwaitAll(int count) {
  int worst = kSuccess;
  Patience patience;
  for (int left = count; left > 0; --left) {
    const pid_t pid = AwaitOne(&patience);
    if (pid < 0) return Worse(worst, kFailure);
    int rank = 0;
    while (rank < count && children[rank] != pid) ++rank;
    int wait_status = 0;
    {
      // Its number is another's once it is reaped, and is told nothing from here on.
      const BlockedSignals blocked;
      if (rank < count) children[rank] = 0;
      ::waitpid(pid, &wait_status, 0);
    }
    const int status = StatusOf(rank, wait_status);
    worst = Worse(worst, status);
    if (status != kSuccess) patience.Begin(status);
  }
  return worst;
}

}  // namespace

absl::StatusOr<int> RunLocalProcesses(const std::vector<std::string>& arguments, int count) {
  ASSIGN_OR_RETURN(const int port, FreePort());
  const std::vector<char*> pointers = Pointers(arguments);
  const ForwardedSignals forwarded;
  absl::Status started;
  int running = 0;
  {
    const BlockedSignals blocked;
    while (running < count) {
      const auto pid = StartOne(pointers, EnvironmentOf(running, count, port), blocked.before());
      started = pid.status();
      if (!pid.ok()) break;
      children[running++] = *pid;
      // One that came in another thread, OpenBLAS's, told those that were there.
      if (const int signal = told; signal != 0) ::kill(*pid, signal);
    }
  }
  if (!started.ok()) TellAll(SIGKILL);
  const int status = AwaitAll(running);
  RETURN_IF_ERROR(started);
  return status;
}

}  // namespace sightline
