#include "common/generations/load_watch.h"

#include <utility>

namespace sightline {

LoadWatch::LoadWatch(absl::Duration interval, Clock* clock, std::shared_ptr<Cancellation> load,
                     std::function<bool()> is_overtaken)
    : interval_(interval),
      clock_(clock),
      load_(std::move(load)),
      is_overtaken_(std::move(is_overtaken)) {
  thread_ = std::thread([this] { Run(); });
}

LoadWatch::~LoadWatch() {
  {
    MutexLock lock(mutex_);
    done_ = true;
  }
  changed_.NotifyAll();
  thread_.join();
}

void LoadWatch::Run() {
  ReleasableMutexLock lock(mutex_);
  while (!done_) {
    const absl::Time next = clock_->Now() + interval_;
    while (!done_ && clock_->Now() < next) clock_->WaitUntil(changed_, mutex_, next);
    if (done_) return;
    lock.Unlock();
    if (is_overtaken_()) load_->Cancel();
    lock.Lock();
  }
}

}  // namespace sightline
