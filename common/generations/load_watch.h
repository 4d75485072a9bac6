// Gives a load up that nobody wants any more.
#ifndef SIGHTLINE_COMMON_GENERATIONS_LOAD_WATCH_H_
#define SIGHTLINE_COMMON_GENERATIONS_LOAD_WATCH_H_

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "absl/time/time.h"
#include "common/base/call_context.h"
#include "common/base/clock.h"

namespace sightline {

// While it lives, looks at CURRENT of an index every `interval`, on a thread of its own, and
// cancels `load` when it names another generation than it did at first.
class LoadWatch {
 public:
  // `clock` outlives the watch.
  LoadWatch(const std::string& store, const std::string& index, absl::Duration interval,
            Clock* clock, std::shared_ptr<Cancellation> load);
  ~LoadWatch();
  LoadWatch(const LoadWatch&) = delete;
  LoadWatch& operator=(const LoadWatch&) = delete;

 private:
  void Run();

  const std::string store_, index_;
  const absl::Duration interval_;
  Clock* const clock_;
  const std::shared_ptr<Cancellation> load_;
  std::string wanted_;  // set before thread_ starts
  std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;  // guarded by mutex_
  std::thread thread_;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_GENERATIONS_LOAD_WATCH_H_
