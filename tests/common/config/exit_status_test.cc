#include "common/config/exit_status.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

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

TEST_CASE("files: a full disk and a failing one may pass, rights and lengths do not") {
  for (const int number : {ENOSPC, EDQUOT, EIO, ESTALE, EMFILE, ENOMEM}) {
    CAPTURE(number);
    CHECK(ExitStatusOf(FileError("write", "/x", number)) == 75);
  }
  for (const int number : {ENOENT, EACCES, EROFS}) {
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
