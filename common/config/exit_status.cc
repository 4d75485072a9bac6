#include "common/config/exit_status.h"

#include <signal.h>
#include <unistd.h>

#include "absl/time/time.h"
#include "common/base/error_details.h"

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

void EndOnSignals() {
  struct sigaction action = {};
  action.sa_handler = EndInterrupted;
  sigemptyset(&action.sa_mask);
  ::sigaction(SIGTERM, &action, nullptr);
  ::sigaction(SIGINT, &action, nullptr);
}

}  // namespace sightline
