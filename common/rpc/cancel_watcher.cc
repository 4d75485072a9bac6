#include "common/rpc/cancel_watcher.h"

#include <utility>
#include <vector>

namespace sightline {

CancelWatcher::CancelWatcher(Clock* clock, absl::Duration period)
    : clock_(clock), period_(period), thread_([this] { Loop(); }) {}

CancelWatcher::~CancelWatcher() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
  }
  wake_.NotifyAll();
  thread_.join();
}

std::unique_ptr<CancelWatcher::Registration> CancelWatcher::Watch(
    std::function<bool()> is_cancelled, std::shared_ptr<Cancellation> cancellation) {
  MutexLock lock(mutex_);
  calls_.push_back({std::move(is_cancelled), std::move(cancellation)});
  // The thread only has to be woken from its idle wait; a round in progress comes again.
  if (calls_.size() == 1) wake_.NotifyAll();
  return std::unique_ptr<Registration>(new Registration(this, std::prev(calls_.end())));
}

CancelWatcher::Registration::~Registration() {
  MutexLock lock(watcher_->mutex_);
  watcher_->calls_.erase(call_);
}

void CancelWatcher::Loop() {
  ReleasableMutexLock lock(mutex_);
  while (!stopping_) {
    if (calls_.empty()) {
      clock_->WaitUntil(wake_, mutex_, absl::InfiniteFuture());
      continue;
    }
    // Asking happens under the mutex, which is what keeps a call from ending under the
    // question.  Cancelling does not: its callbacks may take any time and any lock.
    std::vector<std::shared_ptr<Cancellation>> gone;
    for (Watched& call : calls_) {
      if (call.cancellation != nullptr && call.is_cancelled()) {
        gone.push_back(std::exchange(call.cancellation, nullptr));
      }
    }
    if (!gone.empty()) {
      lock.Unlock();
      for (const auto& cancellation : gone) cancellation->Cancel();
      gone.clear();
      lock.Lock();
    }
    const absl::Time next = clock_->Now() + period_;
    while (!stopping_ && !calls_.empty() && clock_->Now() < next) {
      clock_->WaitUntil(wake_, mutex_, next);
    }
  }
}

}  // namespace sightline
