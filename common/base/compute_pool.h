// The one pool of compute threads of a process.
//
// OpenMP and OpenBLAS make a team of threads for every thread that enters them, and
// teams fight over cores.  So each library runs single-threaded, and parallelism comes
// from splitting a batch over this pool, whose size is the service's core budget.
//
//   ComputePool pool(/*threads=*/2);
//   pool.ParallelFor(rows, /*grain=*/16, [&](int64_t begin, int64_t end) {...});
#ifndef SIGHTLINE_COMMON_BASE_COMPUTE_POOL_H_
#define SIGHTLINE_COMMON_BASE_COMPUTE_POOL_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include "common/base/mutex.h"

namespace sightline {

// Thread-safe.
class ComputePool {
 public:
  // `threads` >= 1: how many may compute at once, a caller of ParallelFor included.
  // 1 means that everything runs in the calling thread.
  explicit ComputePool(int threads);

  // Waits for work in progress.  Nobody may be inside ParallelFor any more.
  ~ComputePool();

  ComputePool(const ComputePool&) = delete;
  ComputePool& operator=(const ComputePool&) = delete;

  int threads() const { return static_cast<int>(workers_.size()) + 1; }

  // Calls `body(begin, end)` on disjoint ranges that cover [0, count), each of at most
  // max(grain, count / threads) elements, and returns when all have ended.  With one
  // thread, or where one range of `grain` covers all, that is a single call.  The caller
  // works too, so a call from inside `body` cannot deadlock.  `body` must not throw.
  void ParallelFor(int64_t count, int64_t grain,
                   const std::function<void(int64_t begin, int64_t end)>& body);

  // Sets OpenBLAS to one thread for the process, and OpenMP for the calling thread: gcc's
  // OpenMP keeps the number per thread and new threads do not inherit it.  The pool's
  // own threads call it themselves; any other thread that may enter OpenMP does so once
  // at its start.  LibTorch's own setting is common/models' affair.
  static void SingleThreadedLibraries();

 private:
  class Loop;
  void Work();
  // Waits for a loop with work left, and enters it; null when the pool ends.
  Loop* EnterNext() EXCLUDES(mutex_);
  void Remove(const Loop* loop) EXCLUDES(mutex_);

  Mutex mutex_;
  CondVar wake_;
  std::deque<Loop*> loops_ GUARDED_BY(mutex_);
  bool stopping_ GUARDED_BY(mutex_) = false;
  std::vector<std::thread> workers_;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_BASE_COMPUTE_POOL_H_
