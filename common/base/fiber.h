// Code that blocks, without a thread for each that does: a fiber has a stack of its own, and where
// it waits (mutex.h, and whatever waits by that) its thread goes on with another.
//
//   FiberScheduler fibers([&] { ... make the thread call RunReady soon ... });
//   if (!fibers.Start([&] { Answer(); })) ...  // returns when that waits, or is done
//   while (...) { ... wait for something, until fibers.next_due() at most ...; fibers.RunReady(); }
//
// A fiber stays in its thread, so what belongs to the thread belongs to it as well; but other
// fibers of the thread run while it waits.  So a fiber does not wait
// - with a mutex held, but for the one that it waits with: another fiber would block the thread,
//   which alone could go on with the first;
// - in a `catch`: what is caught is the thread's;
// - within a ThreadScope, or anything else that is to be the thread's for a while.
// What blocks in another way (a mutex that is held, a read) holds up all fibers of the thread.
//
// As mcrouter's, whose fibers are facebook's folly: one thread that reads, works and writes wakes
// nobody on the way.
#ifndef SIGHTLINE_COMMON_BASE_FIBER_H_
#define SIGHTLINE_COMMON_BASE_FIBER_H_

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <thread>
#include <vector>

#include "common/base/mutex.h"

namespace sightline {

class FiberScheduler;

class Fiber {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // The one that calls this; null in a thread outside of fibers.
  static Fiber* Current();

  // Of the current fiber: waits for Resume, or for `until`.  May return for no reason.
  void Suspend(TimePoint until);

  // Has the fiber go on if it waits, or not wait the next time.  Thread-safe, while the fiber
  // lives.
  void Resume();

 private:
  friend class FiberScheduler;
  struct Stack;  // and what is kept there of a fiber that does not run

  Fiber(FiberScheduler* scheduler, std::unique_ptr<Stack> stack);
  // Null: there is no memory for its stack.
  static std::unique_ptr<Fiber> Make(FiberScheduler* scheduler);
  static void Main();
  // Both return when the other side comes back.
  void Enter();
  void Leave();

  FiberScheduler* const scheduler_;
  const std::unique_ptr<Stack> stack_;
  std::function<void()> body_;      // null: it has ended
  std::atomic<bool> ready_{false};  // is among the scheduler's ready_
};

// The fibers of the thread that makes this, and that alone calls it.
class FiberScheduler {
 public:
  // Bytes of a fiber's stack, of which it takes as much memory as it has ever used.
  static constexpr size_t kStackBytes = size_t{512} << 10;

  // `wake` is called in other threads, when a fiber has become ready and none was before.  It must
  // not wait.
  explicit FiberScheduler(std::function<void()> wake);
  // No fiber is left.
  ~FiberScheduler();
  FiberScheduler(const FiberScheduler&) = delete;
  FiberScheduler& operator=(const FiberScheduler&) = delete;

  // Runs `body`, which must not throw, in a fiber.  Not to be called in one.  False: there is no
  // memory for its stack, and it is not run.
  [[nodiscard]] bool Start(std::function<void()> body);

  // Has those go on that are ready, or whose time has come, until there are none.
  void RunReady();

  // When the first of those that wait has waited for long enough.
  Fiber::TimePoint next_due() const;

  // Fibers that have not ended.
  int alive() const { return alive_; }

 private:
  friend class Fiber;

  void AddReady(Fiber* fiber) EXCLUDES(mutex_);
  void GoOn(Fiber* fiber);
  void Keep(Fiber* fiber);

  const std::thread::id thread_ = std::this_thread::get_id();
  const std::function<void()> wake_;
  std::multimap<Fiber::TimePoint, Fiber*> due_;
  std::vector<std::unique_ptr<Fiber>> idle_;  // have ended
  int alive_ = 0;
  Mutex mutex_;
  std::vector<Fiber*> ready_ GUARDED_BY(mutex_);
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_BASE_FIBER_H_
