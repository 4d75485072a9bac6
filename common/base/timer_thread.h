// One thread that runs short tasks when their time has come.
//
//   auto timers = std::make_shared<TimerThread>(Clock::Real());
//   timers->At(clock->Now() + absl::Milliseconds(100), [call = std::weak_ptr<Call>(call)] {
//     if (auto alive = call.lock()) alive->OnLate();
//   });
//
// A task cannot be taken back: one that may have become pointless holds its subject
// weakly.
#ifndef SIGHTLINE_COMMON_BASE_TIMER_THREAD_H_
#define SIGHTLINE_COMMON_BASE_TIMER_THREAD_H_

#include <functional>
#include <memory>
#include <thread>

#include "absl/time/time.h"
#include "common/base/clock.h"

namespace sightline {

// Thread-safe.
class TimerThread {
 public:
  // `clock` outlives the timer.
  explicit TimerThread(Clock* clock);

  // What has not come due is dropped.  Waits for a task that is running, unless it is
  // that task which drops the timer.
  ~TimerThread();
  TimerThread(const TimerThread&) = delete;
  TimerThread& operator=(const TimerThread&) = delete;

  // Runs `task` on the timer's thread as soon as the clock shows `when`.  It must not
  // block: all others wait for it.
  void At(absl::Time when, std::function<void()> task);

 private:
  struct Agenda;
  static void Run(const std::shared_ptr<Agenda>& agenda);

  // Shared with the thread, which may outlive the timer by the task that dropped it.
  const std::shared_ptr<Agenda> agenda_;
  std::thread thread_;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_BASE_TIMER_THREAD_H_
