// Threads for what servers of a test do.
#ifndef SIGHTLINE_TESTS_SUPPORT_HANDLERS_H_
#define SIGHTLINE_TESTS_SUPPORT_HANDLERS_H_

#include <deque>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

#include "common/base/mutex.h"

namespace sightline {

// Threads that run what they are given, in any order, and all of it before they end: the
// handlers of servers in a test.
class Handlers {
 public:
  explicit Handlers(int count) {
    for (int i = 0; i < count; ++i) threads_.emplace_back([this] { Work(); });
  }
  ~Handlers() {
    {
      MutexLock lock(mutex_);
      stopping_ = true;
    }
    changed_.NotifyAll();
    for (std::thread& thread : threads_) thread.join();
  }

  void Run(std::function<void()> task) {
    MutexLock lock(mutex_);
    tasks_.push_back(std::move(task));
    // Under the lock: when the last task has run, this may be gone.
    changed_.NotifyOne();
  }

 private:
  void Work() {
    ReleasableMutexLock lock(mutex_);
    while (true) {
      while (tasks_.empty() && !stopping_) changed_.Wait(mutex_);
      if (tasks_.empty()) return;
      std::function<void()> task = std::move(tasks_.front());
      tasks_.pop_front();
      lock.Unlock();
      task();
      task = nullptr;
      lock.Lock();
    }
  }

  Mutex mutex_;
  CondVar changed_;
  std::deque<std::function<void()>> tasks_ GUARDED_BY(mutex_);
  bool stopping_ GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_SUPPORT_HANDLERS_H_
