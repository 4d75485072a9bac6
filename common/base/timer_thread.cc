#include "common/base/timer_thread.h"

#include <map>
#include <utility>

#include "common/base/mutex.h"

namespace sightline {

struct TimerThread::Agenda {
  explicit Agenda(Clock* clock) : clock(clock) {}

  Clock* const clock;
  Mutex mutex;
  CondVar changed;
  std::multimap<absl::Time, std::function<void()>> tasks GUARDED_BY(mutex);
  bool stopping GUARDED_BY(mutex) = false;
};

TimerThread::TimerThread(Clock* clock) : agenda_(std::make_shared<Agenda>(clock)) {
  thread_ = std::thread([agenda = agenda_] { Run(agenda); });
}

TimerThread::~TimerThread() {
  // Let go without the lock: what a task holds may end with it.
  std::multimap<absl::Time, std::function<void()>> dropped;
  {
    MutexLock lock(agenda_->mutex);
    agenda_->stopping = true;
    dropped.swap(agenda_->tasks);
    agenda_->changed.NotifyAll();
  }
  if (thread_.get_id() == std::this_thread::get_id()) {
    thread_.detach();
  } else {
    thread_.join();
  }
}

void TimerThread::At(absl::Time when, std::function<void()> task) {
  MutexLock lock(agenda_->mutex);
  const auto added = agenda_->tasks.emplace(when, std::move(task));
  if (added == agenda_->tasks.begin()) agenda_->changed.NotifyAll();
}

void TimerThread::Run(const std::shared_ptr<Agenda>& agenda) {
  ReleasableMutexLock lock(agenda->mutex);
  while (!agenda->stopping) {
    const auto first = agenda->tasks.begin();
    const absl::Time due = first == agenda->tasks.end() ? absl::InfiniteFuture() : first->first;
    if (due == absl::InfiniteFuture() || agenda->clock->Now() < due) {
      agenda->clock->WaitUntil(agenda->changed, agenda->mutex, due);
      continue;
    }
    std::function<void()> task = std::move(first->second);
    agenda->tasks.erase(first);
    lock.Unlock();
    task();
    task = nullptr;
    lock.Lock();
  }
}

}  // namespace sightline
