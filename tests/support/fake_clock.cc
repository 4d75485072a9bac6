#include "tests/support/fake_clock.h"

#include <algorithm>
#include <vector>

namespace sightline {

absl::Time FakeClock::Now() {
  std::lock_guard<std::mutex> guard(mutex_);
  return now_;
}

void FakeClock::WaitUntil(std::condition_variable& cv, std::unique_lock<std::mutex>& lock,
                          absl::Time deadline) {
  std::list<Sleeper>::iterator self;
  {
    std::lock_guard<std::mutex> guard(mutex_);
    if (now_ >= deadline) return;
    self = sleepers_.insert(sleepers_.end(), Sleeper{&cv, lock.mutex(), deadline});
    changed_.notify_all();
  }
  // Whoever wants to wake this thread locks `lock`'s mutex first, and that is free only
  // once the wait has begun: no notification falls between the lines.
  cv.wait(lock);
  lock.unlock();
  {
    // The caller may destroy cv and mutex as soon as this returns.
    std::unique_lock<std::mutex> guard(mutex_);
    changed_.wait(guard, [&] { return self->wakers == 0; });
    sleepers_.erase(self);
    changed_.notify_all();
  }
  lock.lock();
}

void FakeClock::Advance(absl::Duration by) {
  SetTime(Now() + by);
}

void FakeClock::SetTime(absl::Time now) {
  std::vector<Sleeper*> due;
  {
    std::lock_guard<std::mutex> guard(mutex_);
    now_ = std::max(now_, now);
    for (Sleeper& sleeper : sleepers_) {
      if (sleeper.due || sleeper.deadline > now_) continue;
      sleeper.due = true;
      ++sleeper.wakers;
      due.push_back(&sleeper);
    }
  }
  for (Sleeper* sleeper : due) {
    {
      std::lock_guard<std::mutex> guard(*sleeper->mutex);
      sleeper->cv->notify_all();
    }
    std::lock_guard<std::mutex> guard(mutex_);
    --sleeper->wakers;
    changed_.notify_all();
  }
}

void FakeClock::AwaitSleepers(int count) {
  std::unique_lock<std::mutex> guard(mutex_);
  changed_.wait(guard, [&] {
    return std::count_if(sleepers_.begin(), sleepers_.end(),
                         [](const Sleeper& sleeper) { return !sleeper.due; }) >= count;
  });
}

}  // namespace sightline
