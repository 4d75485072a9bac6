// Notices that callers went away.
//
// gRPC's synchronous API tells a handler only when it asks, and a handler that is
// blocked on a batch or a backend does not ask.  So one thread asks every 10 ms for all
// calls in progress that it has seen before, and cancels their Cancellation.  Calls that
// end sooner are not asked about, and where they follow each other closely none wakes the
// thread.  The alternative, the callback API, would give up blocking handlers for this one
// signal.
#ifndef SIGHTLINE_COMMON_RPC_CANCEL_WATCHER_H_
#define SIGHTLINE_COMMON_RPC_CANCEL_WATCHER_H_

#include <functional>
#include <list>
#include <memory>
#include <thread>
#include <vector>

#include "absl/time/time.h"
#include "common/base/call_context.h"
#include "common/base/clock.h"
#include "common/base/mutex.h"

namespace sightline {

// Thread-safe.
class CancelWatcher {
 public:
  // Asks every `period` of `clock`, which must outlive this.
  explicit CancelWatcher(Clock* clock, absl::Duration period = absl::Milliseconds(10));

  // All registrations must have ended.
  ~CancelWatcher();

  CancelWatcher(const CancelWatcher&) = delete;
  CancelWatcher& operator=(const CancelWatcher&) = delete;

  // Ends the watch when it goes; from then on `is_cancelled` is not called any more.
  class Registration;

  // Calls `is_cancelled` from the watcher's thread, first after one to two periods and until it is
  // true, then `cancellation->Cancel()`, whose callbacks so run in that thread.
  std::unique_ptr<Registration> Watch(std::function<bool()> is_cancelled,
                                      std::shared_ptr<Cancellation> cancellation);

 private:
  struct Watched {
    std::function<bool()> is_cancelled;
    std::shared_ptr<Cancellation> cancellation;  // null once it is cancelled
    bool came = true;                            // since the last round
  };

  void Loop();
  // The cancellations of calls whose callers went away since the last round.
  std::vector<std::shared_ptr<Cancellation>> Ask() REQUIRES(mutex_);

  Clock* const clock_;
  const absl::Duration period_;
  Mutex mutex_;
  CondVar wake_;
  std::list<Watched> calls_ GUARDED_BY(mutex_);
  bool any_came_ GUARDED_BY(mutex_) = false;  // since the last round
  bool resting_ GUARDED_BY(mutex_) = false;   // the thread waits for a call
  bool stopping_ GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

class CancelWatcher::Registration {
 public:
  ~Registration();
  Registration(const Registration&) = delete;
  Registration& operator=(const Registration&) = delete;

 private:
  friend class CancelWatcher;
  Registration(CancelWatcher* watcher, std::list<Watched>::iterator call)
      : watcher_(watcher), call_(call) {}

  CancelWatcher* const watcher_;
  const std::list<Watched>::iterator call_;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_RPC_CANCEL_WATCHER_H_
