// Threads for handlers that compute or block: as many as are busy at a time, and a few that have
// been.
#ifndef SIGHTLINE_COMMON_RPC_HANDLER_THREADS_H_
#define SIGHTLINE_COMMON_RPC_HANDLER_THREADS_H_

#include <deque>
#include <functional>

#include "common/base/mutex.h"

namespace sightline {

// Thread-safe.
class HandlerThreads {
 public:
  // `most`: threads at a time.
  explicit HandlerThreads(int most) : most_(most) {}
  // Waits for all that was to be run.
  ~HandlerThreads();
  HandlerThreads(const HandlerThreads&) = delete;
  HandlerThreads& operator=(const HandlerThreads&) = delete;

  // Runs `work`, which must not throw, in a thread of these.  False: all are busy, or the system
  // has no more threads, and it is not run.
  [[nodiscard]] bool Run(std::function<void()> work);

 private:
  void Serve(std::function<void()> work);

  const int most_;
  Mutex mutex_;
  CondVar changed_;  // what there is to do
  CondVar ended_;    // a thread
  std::deque<std::function<void()>> work_ GUARDED_BY(mutex_);
  int threads_ GUARDED_BY(mutex_) = 0;
  int idle_ GUARDED_BY(mutex_) = 0;
  bool stopping_ GUARDED_BY(mutex_) = false;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_RPC_HANDLER_THREADS_H_
