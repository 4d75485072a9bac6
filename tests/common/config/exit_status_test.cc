#include "common/config/exit_status.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <iostream>
#include <string>

#include "absl/strings/match.h"
#include "absl/time/time.h"
#include "common/base/error_details.h"
#include "common/base/files.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

absl::Status Of(absl::StatusCode code) {
  return absl::Status(code, "something");
}

TEST_CASE("what may pass is to be run again, everything else fails for good") {
  CHECK(ExitStatusOf(absl::OkStatus()) == 0);
  for (const absl::StatusCode code :
       {absl::StatusCode::kCancelled, absl::StatusCode::kDeadlineExceeded,
        absl::StatusCode::kAborted, absl::StatusCode::kResourceExhausted,
        absl::StatusCode::kUnavailable}) {
    CAPTURE(code);
    CHECK(ExitStatusOf(Of(code)) == 75);
  }
  for (const absl::StatusCode code :
       {absl::StatusCode::kUnknown, absl::StatusCode::kInvalidArgument, absl::StatusCode::kNotFound,
        absl::StatusCode::kAlreadyExists, absl::StatusCode::kPermissionDenied,
        absl::StatusCode::kFailedPrecondition, absl::StatusCode::kOutOfRange,
        absl::StatusCode::kUnimplemented, absl::StatusCode::kInternal, absl::StatusCode::kDataLoss,
        absl::StatusCode::kUnauthenticated}) {
    CAPTURE(code);
    CHECK(ExitStatusOf(Of(code)) == 1);
  }
}

TEST_CASE("files: a full disk and a failing one may pass, rights, kinds and lengths do not") {
  for (const int number : {ENOSPC, EDQUOT, EIO, ESTALE, EMFILE, ENOMEM}) {
    CAPTURE(number);
    CHECK(ExitStatusOf(FileError("write", "/x", number)) == 75);
  }
  for (const int number : {ENOENT, EACCES, EROFS, EISDIR, ELOOP, ENAMETOOLONG}) {
    CAPTURE(number);
    CHECK(ExitStatusOf(FileError("write", "/x", number)) == 1);
  }
  CHECK(ExitStatusOf(MakeError(reasons::kReadFailed, "read /x: Input/output error")) == 75);
  CHECK(ExitStatusOf(ReadFile("/proc/self/status", 10).status()) == 1);
}

TEST_CASE("an error that says when to come back may pass, one that says never does not") {
  const absl::Status busy = MakeError(reasons::kServerBusy, "busy");
  CHECK(ExitStatusOf(WithRetryDelay(busy, absl::Seconds(1))) == 75);
  CHECK(ExitStatusOf(WithRetryDelay(busy, absl::InfiniteDuration())) == 1);
}

TEST_CASE("a configuration that is not taken is wrong usage, unless its disk fails") {
  CHECK(ExitStatusOfConfiguration(absl::InvalidArgumentError("colour: unknown key")) == 2);
  CHECK(ExitStatusOfConfiguration(FileError("open", "/x", ENOENT)) == 2);
  CHECK(ExitStatusOfConfiguration(FileError("read", "/x", EIO)) == 75);
  CHECK(ExitStatusOfConfiguration(absl::OkStatus()) == 0);
}

TEST_CASE("of several outcomes the permanent one counts, then what may pass") {
  CHECK(Worse(kSuccess, kSuccess) == kSuccess);
  CHECK(Worse(kSuccess, kRunAgain) == kRunAgain);
  CHECK(Worse(kRunAgain, kSuccess) == kRunAgain);
  CHECK(Worse(kRunAgain, kFailure) == kFailure);
  CHECK(Worse(kFailure, kRunAgain) == kFailure);
  CHECK(Worse(kUsageError, kRunAgain) == kUsageError);
}

// Of a process that prints `text` to `path` (empty: nothing takes it) and would end with `status`;
// what it told is `told`.
int EndOfPrinting(const std::string& text, const std::string& path, int status, std::string* told) {
  int pipe[2];
  REQUIRE(::pipe(pipe) == 0);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    // One that is read from is as one that was closed.
    const int file = path.empty() ? ::open("/dev/null", O_RDONLY) : ::open(path.c_str(), O_WRONLY);
    if (file < 0 || ::dup2(file, STDOUT_FILENO) < 0 || ::dup2(pipe[1], STDERR_FILENO) < 0) {
      ::_exit(9);
    }
    std::cout << text;
    ::_exit(WithOutput(status));
  }
  ::close(pipe[1]);
  char buffer[512];
  for (ssize_t read = 0; (read = ::read(pipe[0], buffer, sizeof(buffer))) > 0;) {
    told->append(buffer, static_cast<size_t>(read));
  }
  ::close(pipe[0]);
  int ended = 0;
  REQUIRE(::waitpid(child, &ended, 0) == child);
  REQUIRE(WIFEXITED(ended));
  return WEXITSTATUS(ended);
}

TEST_CASE("what was printed and has not arrived is told, and is to be run again") {
  // What fits into a buffer fails when it is flushed, what does not on the way.
  for (const size_t length : {size_t{5}, size_t{100000}}) {
    CAPTURE(length);
    const std::string text(length, 'x');
    std::string told;
    CHECK(EndOfPrinting(text, "/dev/full", kSuccess, &told) == kRunAgain);
    CHECK(absl::StartsWith(told, length < 100 ? "write standard output: No space left on device"
                                              : "write standard output: "));
    CHECK(EndOfPrinting(text, "/dev/full", kFailure, &told) == kFailure);
    told.clear();
    CHECK(EndOfPrinting(text, "", kSuccess, &told) == kFailure);
    CHECK(absl::StartsWith(told, "write standard output: Bad file descriptor"));
    told.clear();
    CHECK(EndOfPrinting(text, "/dev/null", kSuccess, &told) == kSuccess);
    CHECK(EndOfPrinting(text, "/dev/null", kUsageError, &told) == kUsageError);
    CHECK(told.empty());
  }
}

TEST_CASE("signals end the process at once, to be run again") {
  for (const int number : {SIGTERM, SIGINT}) {
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      EndOnSignals();
      ::raise(number);
      ::_exit(9);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    REQUIRE(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == kRunAgain);
  }
}

}  // namespace
}  // namespace sightline
