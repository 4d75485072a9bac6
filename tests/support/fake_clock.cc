#include "tests/support/fake_clock.h"

#include <algorithm>
#include <vector>

namespace sightline {

absl::Time FakeClock::Now() {
  MutexLock guard(mutex_);
  return now_;
}

void FakeClock::WaitUntil(CondVar& cv, Mutex& mutex, absl::Time deadline) {
  std::list<Sleeper>::iterator self;
  {
    MutexLock guard(mutex_);
    if (now_ >= deadline) return;
    self = sleepers_.insert(sleepers_.end(), Sleeper{&cv, &mutex, deadline});
    changed_.NotifyAll();
  }
  // Whoever wants to wake this thread locks `mutex` first, and that is free only once the
  // wait has begun: no notification falls between the lines.
  cv.Wait(mutex);
  mutex.Unlock();
  {
    // The caller may destroy cv and mutex as soon as this returns.
    MutexLock guard(mutex_);
    while (self->wakers > 0) changed_.Wait(mutex_);
    sleepers_.erase(self);
    changed_.NotifyAll();
  }
  mutex.Lock();
}

void FakeClock::Advance(absl::Duration by) {
  SetTime(Now() + by);
}

void FakeClock::SetTime(absl::Time now) {
  std::vector<Sleeper*> due;
  {
    MutexLock guard(mutex_);
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
      MutexLock guard(*sleeper->mutex);
      sleeper->cv->NotifyAll();
    }
    MutexLock guard(mutex_);
    --sleeper->wakers;
    changed_.NotifyAll();
  }
}

void FakeClock::AwaitSleepers(int count) {
  MutexLock guard(mutex_);
  while (std::count_if(sleepers_.begin(), sleepers_.end(),
                       [](const Sleeper& sleeper) { return !sleeper.due; }) < count) {
    changed_.Wait(mutex_);
  }
}

}  // namespace sightline
