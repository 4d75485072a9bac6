#include "common/base/timer_thread.h"

#include <condition_variable>
#include <map>
#include <mutex>
#include <utility>

namespace sightline {

struct TimerThread::Agenda {
  explicit Agenda(Clock* clock) : clock(clock) {}

  Clock* const clock;
  std::mutex mutex;
  std::condition_variable changed;
  std::multimap<absl::Time, std::function<void()>> tasks;  // guarded by mutex
  bool stopping = false;                                   // guarded by mutex
};

TimerThread::TimerThread(Clock* clock) : agenda_(std::make_shared<Agenda>(clock)) {
  thread_ = std::thread([agenda = agenda_] { Run(agenda); });
}

TimerThread::~TimerThread() {
  // Let go without the lock: what a task holds may end with it.
  std::multimap<absl::Time, std::function<void()>> dropped;
  {
    std::lock_guard<std::mutex> lock(agenda_->mutex);
    agenda_->stopping = true;
    dropped.swap(agenda_->tasks);
    agenda_->changed.notify_all();
  }
  if (thread_.get_id() == std::this_thread::get_id()) {
    thread_.detach();
  } else {
    thread_.join();
  }
}

void TimerThread::At(absl::Time when, std::function<void()> task) {
  std::lock_guard<std::mutex> lock(agenda_->mutex);
  const auto added = agenda_->tasks.emplace(when, std::move(task));
  if (added == agenda_->tasks.begin()) agenda_->changed.notify_all();
}

void TimerThread::Run(const std::shared_ptr<Agenda>& agenda) {
  std::unique_lock<std::mutex> lock(agenda->mutex);
  while (!agenda->stopping) {
    const auto first = agenda->tasks.begin();
    const absl::Time due = first == agenda->tasks.end() ? absl::InfiniteFuture() : first->first;
    if (due == absl::InfiniteFuture() || agenda->clock->Now() < due) {
      agenda->clock->WaitUntil(agenda->changed, lock, due);
      continue;
    }
    std::function<void()> task = std::move(first->second);
    agenda->tasks.erase(first);
    lock.unlock();
    task();
    task = nullptr;
    lock.lock();
  }
}

}  // namespace sightline
