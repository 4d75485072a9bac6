#include "loadtest/fleet/process.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/base/clock.h"
#include "common/base/descriptor.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"

namespace sightline {
namespace {

constexpr int kSignalled = 128;  // plus the signal's number
constexpr size_t kLogEndBytes = 8 << 10;

// What the child does between vfork and exec.  Only system calls: its memory is the
// parent's.  If it fails, the reason goes into `errors`, which a successful exec closes.
[[noreturn]] void Become(char* const* argv, int input, int output, int errors, pid_t parent) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  // A parent that died before it was asked for would never be noticed.
  if (::getppid() != parent) ::_exit(127);
  struct sigaction by_default = {};
  by_default.sa_handler = SIG_DFL;
  for (int signal = 1; signal < NSIG; ++signal) ::sigaction(signal, &by_default, nullptr);
  sigset_t none;
  ::sigemptyset(&none);
  if (::dup2(input, STDIN_FILENO) >= 0 && ::dup2(output, STDOUT_FILENO) >= 0 &&
      ::dup2(output, STDERR_FILENO) >= 0) {
    ::close_range(STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::execv(argv[0], argv);
  }
  const int error = errno;
  (void)!::write(errors, &error, sizeof(error));
  ::_exit(127);
}

// Not fork, which would run what libraries want done around one (OpenBLAS would end its
// threads), and not posix_spawn, which knows no PR_SET_PDEATHSIG.
pid_t Spawn(char* const* argv, int input, int output, int errors) {
  const pid_t self = ::getpid();
  const pid_t child = ::vfork();
  if (child == 0) Become(argv, input, output, errors, self);
  return child;
}

absl::Status RunFailed(const std::string& program, int error) {
  return FileError("run", program, error);
}

// The child's number, or why there is none.  Signals are blocked in the calling thread, as
// none of our handlers may run in the child.
absl::StatusOr<pid_t> Run(const std::vector<std::string>& command, int output) {
  std::vector<char*> argv;
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  const Descriptor nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  int ends[2];
  if (nothing.get() < 0 || ::pipe2(ends, O_CLOEXEC) != 0) return RunFailed(command[0], errno);
  const Descriptor reads(ends[0]);
  Descriptor errors(ends[1]);
  const pid_t child = Spawn(argv.data(), nothing.get(), output, errors.get());
  if (child < 0) return RunFailed(command[0], errno);
  errors.Close();
  int error = 0;
  if (::read(reads.get(), &error, sizeof(error)) != sizeof(error)) return child;
  ::waitpid(child, nullptr, 0);
  return RunFailed(command[0], error);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Process>> Process::Start(const std::vector<std::string>& command,
                                                        const std::string& log) {
  const Descriptor output(::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  if (output.get() < 0) return FileError("open", log, errno);
  return StartWithOutput(command, output.get());
}

absl::StatusOr<std::unique_ptr<Process>> Process::StartWithOutput(
    const std::vector<std::string>& command, int output) {
  if (command.empty()) return absl::InvalidArgumentError("there is no command to run");
  std::unique_ptr<Process> process(new Process);
  process->keeper_ = std::thread([raw = process.get(), command, output] {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, nullptr);
    raw->Keep(command, output);
  });
  RETURN_IF_ERROR(process->AwaitStart());
  return process;
}

absl::Status Process::AwaitStart() const {
  MutexLock lock(mutex_);
  while (!started_.has_value()) changed_.Wait(mutex_);
  return *started_;
}

Process::~Process() {
  (void)Signal(SIGKILL);
  keeper_.join();
}

void Process::Keep(const std::vector<std::string>& command, int output) {
  const absl::StatusOr<pid_t> child = Run(command, output);
  {
    MutexLock lock(mutex_);
    if (child.ok()) {
      pid_ = *child;
    } else {
      exit_status_ = 127;
    }
    started_ = child.status();
    changed_.NotifyAll();
  }
  if (!child.ok()) return;
  // Looks without taking it away, so that the number stays the child's while Signal may
  // use it.
  siginfo_t info;
  while (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT) != 0 &&
         errno == EINTR) {
  }
  {
    MutexLock lock(mutex_);
    int status = 0;
    ::waitpid(pid_, &status, 0);
    exit_status_ = WIFEXITED(status) ? WEXITSTATUS(status) : kSignalled + WTERMSIG(status);
    changed_.NotifyAll();
  }
  end_->Cancel();
}

absl::Status Process::Signal(int signal) {
  MutexLock lock(mutex_);
  if (exit_status_) {
    return absl::FailedPreconditionError(
        absl::StrCat("process ", pid_, " has ended with ", DescribeExit(*exit_status_)));
  }
  if (::kill(pid_, signal) != 0) return FileError("signal", absl::StrCat("process ", pid_), errno);
  return absl::OkStatus();
}

absl::optional<absl::Duration> Process::cpu_time() const {
  MutexLock lock(mutex_);
  clockid_t clock;
  timespec time;
  if (exit_status_.has_value() || ::clock_getcpuclockid(pid_, &clock) != 0 ||
      ::clock_gettime(clock, &time) != 0) {
    return absl::nullopt;
  }
  return absl::DurationFromTimespec(time);
}

absl::optional<int> Process::exit_status() const {
  MutexLock lock(mutex_);
  return exit_status_;
}

absl::optional<int> Process::Wait(absl::Time deadline) const {
  Clock* const clock = Clock::Real();
  MutexLock lock(mutex_);
  while (!exit_status_ && clock->Now() < deadline) clock->WaitUntil(changed_, mutex_, deadline);
  return exit_status_;
}

int Process::Stop(absl::Duration patience) {
  (void)Signal(SIGTERM);
  (void)Signal(SIGCONT);
  if (const absl::optional<int> status = Wait(Clock::Real()->Now() + patience)) return *status;
  (void)Signal(SIGKILL);
  return *Wait();
}

std::string DescribeExit(int exit_status) {
  if (exit_status <= kSignalled) return absl::StrCat("exit status ", exit_status);
  const int signal = exit_status - kSignalled;
  const char* const name = ::sigabbrev_np(signal);
  return absl::StrCat("signal ", signal, name == nullptr ? "" : absl::StrCat(" (SIG", name, ")"));
}

std::string EndOfLog(const std::string& log, int lines) {
  const Descriptor file(::open(log.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) return "";
  const off_t size = ::lseek(file.get(), 0, SEEK_END);
  const off_t start = std::max<off_t>(0, size - static_cast<off_t>(kLogEndBytes));
  std::string end(kLogEndBytes, '\0');
  const ssize_t count = ::pread(file.get(), end.data(), end.size(), start);
  end.resize(static_cast<size_t>(std::max<ssize_t>(count, 0)));
  while (!end.empty() && end.back() == '\n') end.pop_back();
  size_t from = end.size();
  for (int line = 0; line < lines && from != std::string::npos && from > 0; ++line) {
    from = end.rfind('\n', from - 1);
  }
  return from == std::string::npos || from == 0 ? end : end.substr(from + 1);
}

}  // namespace sightline
