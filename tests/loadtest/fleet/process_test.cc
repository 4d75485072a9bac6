#include "loadtest/fleet/process.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/numbers.h"
#include "common/base/files.h"
#include "tests/support/await.h"
#include "tests/support/catch.h"
#include "tests/support/gate.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

using Catch::Contains;

constexpr char kOwner[] = "tests/loadtest/fleet/process_owner";

// A shell that runs `script` and writes into a log of its own.
struct Shell {
  explicit Shell(const std::string& script) {
    auto started = Process::Start({"/bin/sh", "-c", script}, log);
    REQUIRE(started.ok());
    process = *std::move(started);
  }
  // Blocks until the log has a line that is `line`.
  void AwaitLine(const std::string& line) const {
    AwaitUntil([&] { return EndOfLog(log, 1) == line; });
  }

  TempDir directory;
  const std::string log = directory.File("log");
  std::unique_ptr<Process> process;
};

// Blocks until the child has stopped (SIGSTOP).
void AwaitStopped(pid_t pid) {
  siginfo_t info;
  REQUIRE(::waitid(P_PID, static_cast<id_t>(pid), &info, WSTOPPED | WNOWAIT) == 0);
}

}  // namespace

TEST_CASE("a process tells what it ended with, and then takes no signal") {
  Shell shell("exit 7");
  REQUIRE(shell.process->Wait() == 7);
  REQUIRE(!shell.process->running());
  REQUIRE(!shell.process->cpu_time().has_value());
  REQUIRE(shell.process->exit_status() == 7);
  const absl::Status signalled = shell.process->Signal(SIGTERM);
  REQUIRE(signalled.code() == absl::StatusCode::kFailedPrecondition);
  REQUIRE_THAT(std::string(signalled.message()), Contains("exit status 7"));
}

TEST_CASE("a process that is killed tells the signal") {
  Shell shell("exec sleep 1000");
  REQUIRE(shell.process->running());
  REQUIRE(shell.process->cpu_time().has_value());
  REQUIRE(shell.process->Wait(absl::InfinitePast()) == absl::nullopt);
  REQUIRE(shell.process->Signal(SIGKILL).ok());
  REQUIRE(shell.process->Wait() == 128 + SIGKILL);
  REQUIRE(DescribeExit(*shell.process->exit_status()) == "signal 9 (SIGKILL)");
}

TEST_CASE("both outputs are appended to the log, and its end can be read") {
  Shell shell("echo one; echo two >&2; echo three");
  REQUIRE(shell.process->Wait() == 0);
  const auto again = Process::Start({"/bin/echo", "four"}, shell.log);
  REQUIRE(again.ok());
  REQUIRE((*again)->Wait() == 0);
  REQUIRE(*ReadFile(shell.log) == "one\ntwo\nthree\nfour\n");
  REQUIRE(EndOfLog(shell.log, 1) == "four");
  REQUIRE(EndOfLog(shell.log, 2) == "three\nfour");
  REQUIRE(EndOfLog(shell.log, 100) == "one\ntwo\nthree\nfour");
  REQUIRE(EndOfLog(shell.directory.File("none"), 3).empty());
}

TEST_CASE("a process is asked to end before it is made to") {
  SECTION("one that listens ends by itself") {
    Shell shell("trap 'exit 3' TERM; echo ready; while :; do :; done");
    shell.AwaitLine("ready");
    REQUIRE(shell.process->Stop(absl::InfiniteDuration()) == 3);
  }
  SECTION("a paused one is continued") {
    Shell shell("trap 'exit 3' TERM; echo ready; while :; do :; done");
    shell.AwaitLine("ready");
    REQUIRE(shell.process->Signal(SIGSTOP).ok());
    AwaitStopped(shell.process->pid());
    REQUIRE(shell.process->Stop(absl::InfiniteDuration()) == 3);
  }
  SECTION("one that does not listen is killed") {
    Shell shell("trap '' TERM; echo ready; while :; do :; done");
    shell.AwaitLine("ready");
    REQUIRE(shell.process->Stop(absl::ZeroDuration()) == 128 + SIGKILL);
  }
}

TEST_CASE("what cannot be run is an error that names it") {
  TempDir directory;
  const std::string log = directory.File("log");
  const auto status = [&](const std::string& program) {
    return Process::Start({program}, log).status();
  };
  REQUIRE(status(directory.File("none")).code() == absl::StatusCode::kNotFound);
  REQUIRE_THAT(std::string(status(directory.File("none")).message()),
               Contains(directory.File("none")));
  REQUIRE(WriteFileAtomically(directory.File("text"), "no program").ok());
  REQUIRE(status(directory.File("text")).code() == absl::StatusCode::kPermissionDenied);
  REQUIRE(Process::Start({}, log).status().code() == absl::StatusCode::kInvalidArgument);
  REQUIRE(Process::Start({"/bin/true"}, directory.File("none/log")).status().code() ==
          absl::StatusCode::kNotFound);
  // None of the attempts left a child behind.
  REQUIRE(::waitpid(-1, nullptr, WNOHANG) == -1);
  REQUIRE(errno == ECHILD);
}

TEST_CASE("nothing of a process remains, not even a zombie") {
  SECTION("when it has ended") {
    Shell shell("exit 0");
    shell.process->Wait();
    REQUIRE(::waitpid(shell.process->pid(), nullptr, WNOHANG) == -1);
    REQUIRE(errno == ECHILD);
  }
  SECTION("when its object goes") {
    Shell shell("exec sleep 1000");
    const pid_t pid = shell.process->pid();
    shell.process.reset();
    REQUIRE(::kill(pid, 0) == -1);
    REQUIRE(errno == ESRCH);
  }
}

TEST_CASE("the end of a process cancels what waits for it") {
  Shell shell("exec sleep 1000");
  Gate ended;
  const auto told = shell.process->end()->OnCancel([&] { ended.Open(); });
  REQUIRE(!shell.process->end()->cancelled());
  REQUIRE(shell.process->Signal(SIGKILL).ok());
  ended.Wait();
}

TEST_CASE("a process inherits no open file, and no signal that is ignored") {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const auto old = ::signal(SIGTERM, SIG_IGN);
  Shell shell("exec sleep 1000");
  ::signal(SIGTERM, old);
  ::close(ends[1]);
  char byte;
  REQUIRE(::read(ends[0], &byte, 1) == 0);  // would wait for the other writer
  ::close(ends[0]);
  REQUIRE(shell.process->Signal(SIGTERM).ok());
  REQUIRE(shell.process->Wait() == 128 + SIGTERM);
}

TEST_CASE("a process outlives the thread that asked for it") {
  std::unique_ptr<Shell> shell;
  std::thread([&] {
    shell = std::make_unique<Shell>("kill -STOP $$; exit 5");
    AwaitStopped(shell->process->pid());
  }).join();
  REQUIRE(shell->process->Signal(SIGCONT).ok());
  REQUIRE(shell->process->Wait() == 5);
}

TEST_CASE("a process dies with its owner, even if that is killed") {
  // Orphans become children of this process, which can then wait for them.
  REQUIRE(::prctl(PR_SET_CHILD_SUBREAPER, 1) == 0);
  TempDir directory;
  const auto owner =
      Process::Start({kOwner, "/bin/sh", "-c", "exec sleep 1000"}, directory.File("log"));
  REQUIRE(owner.ok());
  int pid = 0;
  AwaitUntil([&] { return absl::SimpleAtoi(EndOfLog(directory.File("log"), 1), &pid); });
  REQUIRE((*owner)->Signal(SIGKILL).ok());
  REQUIRE((*owner)->Wait() == 128 + SIGKILL);
  int status = 0;
  REQUIRE(::waitpid(pid, &status, 0) == pid);
  REQUIRE(WIFSIGNALED(status));
  REQUIRE(WTERMSIG(status) == SIGKILL);
}

TEST_CASE("many threads start, signal and await processes at once") {
  std::vector<std::thread> threads;
  std::vector<int> statuses(8, -1);
  Shell shared("exec sleep 1000");
  for (size_t i = 0; i < statuses.size(); ++i) {
    threads.emplace_back([&, i] {
      TempDir directory;
      const auto own = Process::Start({"/bin/sleep", "1000"}, directory.File("log"));
      if (!own.ok()) return;
      (void)shared.process->Signal(SIGKILL);
      (void)shared.process->Wait();
      statuses[i] = (*own)->Stop(absl::InfiniteDuration());
    });
  }
  for (std::thread& thread : threads) thread.join();
  REQUIRE(statuses == std::vector<int>(8, 128 + SIGTERM));
  REQUIRE(shared.process->exit_status() == 128 + SIGKILL);
}

}  // namespace sightline
