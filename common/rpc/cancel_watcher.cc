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
  any_came_ = true;
  if (resting_) wake_.NotifyAll();
  return std::unique_ptr<Registration>(new Registration(this, std::prev(calls_.end())));
}

CancelWatcher::Registration::~Registration() {
  MutexLock lock(watcher_->mutex_);
  watcher_->calls_.erase(call_);
}

void CancelWatcher::Loop() {
  ReleasableMutexLock lock(mutex_);
  while (!stopping_) {
    if (calls_.empty() && !any_came_) {
      resting_ = true;
      clock_->WaitUntil(wake_, mutex_, absl::InfiniteFuture());
      resting_ = false;
      continue;
    }
    any_came_ = false;
    const absl::Time next = clock_->Now() + period_;
    while (!stopping_ && clock_->Now() < next) clock_->WaitUntil(wake_, mutex_, next);
    std::vector<std::shared_ptr<Cancellation>> gone = Ask();
    if (gone.empty()) continue;
    lock.Unlock();
    for (const auto& cancellation : gone) cancellation->Cancel();
    gone.clear();
    lock.Lock();
  }
}

// Asking happens under the mutex, which is what keeps a call from ending under the question.
// Cancelling does not: its callbacks may take any time and any lock.
std::vector<std::shared_ptr<Cancellation>> CancelWatcher::Ask() {
  std::vector<std::shared_ptr<Cancellation>> gone;
  for (Watched& call : calls_) {
    if (std::exchange(call.came, false) || call.cancellation == nullptr) continue;
    if (call.is_cancelled()) gone.push_back(std::exchange(call.cancellation, nullptr));
  }
  return gone;
}

}  // namespace sightline
