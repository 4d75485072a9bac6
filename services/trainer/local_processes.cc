#include "services/trainer/local_processes.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/base/descriptor.h"
#include "common/base/status_macros.h"
#include "common/config/exit_status.h"
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

// This process's, with what process `rank` is told instead.
std::vector<std::string> EnvironmentOf(int rank, int count, int port) {
  std::vector<std::string> variables = {absl::StrCat("WORLD_SIZE=", count),
                                        absl::StrCat("LOCAL_WORLD_SIZE=", count),
                                        absl::StrCat("RANK=", rank),
                                        absl::StrCat("LOCAL_RANK=", rank),
                                        "MASTER_ADDR=127.0.0.1",
                                        absl::StrCat("MASTER_PORT=", port)};
  const size_t own = variables.size();
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string entry = *variable;
    bool replaced = false;
    for (size_t i = 0; i < own; ++i) {
      const std::string name = variables[i].substr(0, variables[i].find('=') + 1);
      replaced = replaced || entry.compare(0, name.size(), name) == 0;
    }
    if (!replaced) variables.push_back(entry);
  }
  return variables;
}

// Who is told of signals: a handler may read nothing else.
std::atomic<pid_t> children[kMostProcesses];

void TellAll(int signal) {
  for (const std::atomic<pid_t>& child : children) {
    const pid_t pid = child.load();
    if (pid > 0) ::kill(pid, signal);
  }
}

// While it lives SIGTERM and SIGINT are told to the children.
class ForwardedSignals {
 public:
  ForwardedSignals() {
    struct sigaction action = {};
    action.sa_handler = [](int signal) {
      const int kept = errno;
      TellAll(signal);
      errno = kept;
    };
    ::sigaction(SIGTERM, &action, &terminate_);
    ::sigaction(SIGINT, &action, &interrupt_);
  }
  ~ForwardedSignals() {
    ::sigaction(SIGTERM, &terminate_, nullptr);
    ::sigaction(SIGINT, &interrupt_, nullptr);
  }

 private:
  struct sigaction terminate_ = {}, interrupt_ = {};
};

absl::StatusOr<pid_t> StartOne(const std::vector<char*>& arguments,
                               const std::vector<std::string>& environment) {
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
  if (::getppid() == parent) ::execve(kThisProgram, arguments.data(), variables.data());
  ::_exit(kRunAgain);
}

int StatusOf(int wait_status) {
  return WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : kRunAgain;
}

// Waits for all; the worst they ended with.
int AwaitAll(int count) {
  int worst = kSuccess;
  for (int i = 0; i < count; ++i) {
    const pid_t pid = children[i];
    siginfo_t ended = {};
    while (::waitid(P_PID, pid, &ended, WEXITED | WNOWAIT) != 0 && errno == EINTR) {
    }
    // Its number is nobody else's until it is reaped, and is told nothing from here on.
    children[i] = 0;
    int wait_status = 0;
    ::waitpid(pid, &wait_status, 0);
    worst = Worse(worst, StatusOf(wait_status));
  }
  return worst;
}

}  // namespace

absl::StatusOr<int> RunLocalProcesses(const std::vector<std::string>& arguments, int count) {
  ASSIGN_OR_RETURN(const int port, FreePort());
  const std::vector<char*> pointers = Pointers(arguments);
  const ForwardedSignals forwarded;
  for (int rank = 0; rank < count; ++rank) {
    const absl::StatusOr<pid_t> pid = StartOne(pointers, EnvironmentOf(rank, count, port));
    if (!pid.ok()) {
      TellAll(SIGKILL);
      AwaitAll(rank);
      return pid.status();
    }
    children[rank] = *pid;
  }
  return AwaitAll(count);
}

}  // namespace sightline
