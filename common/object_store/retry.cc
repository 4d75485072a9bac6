#include "common/object_store/retry.h"

#include <algorithm>
#include <memory>

#include "absl/strings/str_cat.h"
#include "common/base/mutex.h"

namespace sightline {
namespace {

struct Waiting {
  Mutex mutex;
  CondVar cancelled;
};

void WaitUntil(absl::Time when, const CallContext& call) {
  // Shared: a callback may still run when the wait is over.
  const auto waiting = std::make_shared<Waiting>();
  const Cancellation::Registration registration = call.cancellation()->OnCancel([waiting] {
    MutexLock lock(waiting->mutex);
    waiting->cancelled.NotifyAll();
  });
  MutexLock lock(waiting->mutex);
  while (!call.cancelled() && call.clock()->Now() < when) {
    call.clock()->WaitUntil(waiting->cancelled, waiting->mutex, when);
  }
}

}  // namespace

absl::Status Retry(const RetryPolicy& policy, const CallContext& call,
                   const std::function<absl::Status()>& attempt) {
  absl::Duration wait = policy.first_wait;
  for (int made = 1;; ++made) {
    absl::Status status = attempt();
    if (!absl::IsUnavailable(status)) return status;
    const std::string text = absl::StrCat(status.message(), " (attempt ", made, ")");
    if (made >= policy.attempts) return absl::UnavailableError(text);
    const absl::Time next = call.clock()->Now() + wait * (0.5 + policy.random() / 2);
    if (next >= call.deadline()) return absl::DeadlineExceededError(text);
    WaitUntil(next, call);
    if (call.cancelled()) return absl::CancelledError(text);
    wait = std::min(wait * 2, policy.longest_wait);
  }
}

}  // namespace sightline
