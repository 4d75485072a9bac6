// Gives a load up that nobody wants any more.
#ifndef SIGHTLINE_COMMON_GENERATIONS_LOAD_WATCH_H_
#define SIGHTLINE_COMMON_GENERATIONS_LOAD_WATCH_H_

#include <functional>
#include <memory>
#include <thread>

#include "absl/time/time.h"
#include "common/base/call_context.h"
#include "common/base/clock.h"
#include "common/base/mutex.h"

namespace sightline {

// While it lives, asks `is_overtaken` every `interval`, on a thread of its own, and cancels
// `load` when that says so.  It goes on asking, for a load may take its time to end.
class LoadWatch {
 public:
  // `clock` outlives the watch.
  LoadWatch(absl::Duration interval, Clock* clock, std::shared_ptr<Cancellation> load,
            std::function<bool()> is_overtaken);
  ~LoadWatch();
  LoadWatch(const LoadWatch&) = delete;
  LoadWatch& operator=(const LoadWatch&) = delete;

 private:
  void Run();

  const absl::Duration interval_;
  Clock* const clock_;
  const std::shared_ptr<Cancellation> load_;
  const std::function<bool()> is_overtaken_;
  Mutex mutex_;
  CondVar changed_;
  bool done_ GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_GENERATIONS_LOAD_WATCH_H_
