// A thread's fibers, and who waits for them, as a server has them.
//
//   FiberLoop loop;                     // in the thread that is to run them
//   loop.Start([&] { ... });
//   loop.RunAll();
#ifndef SIGHTLINE_TESTS_SUPPORT_FIBER_LOOP_H_
#define SIGHTLINE_TESTS_SUPPORT_FIBER_LOOP_H_

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <utility>

#include "absl/time/time.h"
#include "common/base/clock.h"
#include "common/base/fiber.h"
#include "common/base/mutex.h"

namespace sightline {

// For the thread that made it.
class FiberLoop {
 public:
  void Start(std::function<void()> body) {
    if (!fibers_.Start(std::move(body))) std::abort();  // no memory for a stack
  }
  FiberScheduler& fibers() { return fibers_; }
  int wakes() const { return wakes_; }

  // Until no fiber is left.
  void RunAll() {
    while (fibers_.alive() > 0) {
      fibers_.RunReady();
      if (fibers_.alive() == 0) break;
      MutexLock lock(mutex_);
      while (!woken_ && std::chrono::steady_clock::now() < fibers_.next_due()) {
        Clock::Real()->WaitUntil(changed_, mutex_, Clock::Real()->Now() + absl::Milliseconds(1));
      }
      woken_ = false;
    }
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  bool woken_ GUARDED_BY(mutex_) = false;
  std::atomic<int> wakes_{0};
  FiberScheduler fibers_{[this] {
    ++wakes_;
    MutexLock lock(mutex_);
    woken_ = true;
    changed_.NotifyAll();
  }};
};

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_SUPPORT_FIBER_LOOP_H_
