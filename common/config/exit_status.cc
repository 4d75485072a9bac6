#include "common/config/exit_status.h"

#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <iostream>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/base/error_details.h"
#include "common/base/files.h"

namespace sightline {
namespace {

// Only what may be done in a signal handler.
void EndInterrupted(int) {
  constexpr char kLine[] = "interrupted; run the same command again\n";
  (void)!::write(STDERR_FILENO, kLine, sizeof(kLine) - 1);
  ::_exit(kRunAgain);
}

int Gravity(int status) {
  if (status == kSuccess) return 0;
  return status == kRunAgain ? 1 : 2;
}

}  // namespace

int ExitStatusOf(const absl::Status& status) {
  if (GetRetryDelay(status) == absl::InfiniteDuration()) return kFailure;
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return kSuccess;
    case absl::StatusCode::kCancelled:
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kAborted:
    case absl::StatusCode::kResourceExhausted:
    case absl::StatusCode::kUnavailable:
      return kRunAgain;
    default:
      return kFailure;
  }
}

int ExitStatusOfConfiguration(const absl::Status& status) {
  const int exit_status = ExitStatusOf(status);
  return exit_status == kFailure ? kUsageError : exit_status;
}

int Worse(int a, int b) {
  return Gravity(b) > Gravity(a) ? b : a;
}

int WithOutput(int status) {
  // std::cout keeps nothing of its own; its bytes are stdio's.
  const bool streamed = std::cout.good();
  const bool earlier = std::ferror(stdout) == 0;
  errno = 0;
  if (std::fflush(stdout) == 0 && streamed && earlier) return status;
  // Of what an earlier write failed is not known any more, but of what each of them does.
  if (errno == 0) (void)!::write(STDOUT_FILENO, "", 0);
  const absl::Status error = errno != 0
                                 ? FileError("write", "standard output", errno)
                                 : absl::UnavailableError(
                                       "write standard output: a part of it was not taken; is "
                                       "there room where it goes?");
  std::fputs(absl::StrCat(error.message(), "\n").c_str(), stderr);
  return Worse(status, ExitStatusOf(error));
}

void EndOnSignals() {
  struct sigaction action = {};
  action.sa_handler = EndInterrupted;
  sigemptyset(&action.sa_mask);
  ::sigaction(SIGTERM, &action, nullptr);
  ::sigaction(SIGINT, &action, nullptr);
}

}  // namespace sightline
