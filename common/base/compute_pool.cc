#include "common/base/compute_pool.h"

#include <omp.h>

#include <algorithm>
#include <atomic>

// Declared here: <cblas.h> of Debian's alternatives may be another BLAS's.
extern "C" void openblas_set_num_threads(int threads);

namespace sightline {
namespace {

// More ranges than threads, so that one who comes late to a loop leaves the rest to the
// others; few enough that handing them out costs nothing.
constexpr int64_t kRangesPerThread = 4;

}  // namespace

// One call of ParallelFor.  It lives on the caller's stack: the caller takes it out of
// loops_ and waits until the last helper has left.
class ComputePool::Loop {
 public:
  Loop(int64_t count, int64_t grain, const std::function<void(int64_t, int64_t)>& body)
      : count_(count), grain_(grain), body_(body) {}

  // Takes ranges until none is left.
  void Run() {
    for (;;) {
      const int64_t begin = next_.fetch_add(grain_, std::memory_order_relaxed);
      if (begin >= count_) return;
      body_(begin, std::min(begin + grain_, count_));
    }
  }

  // A worker enters while the loop is in loops_, and leaves once it is not.
  void Enter() {
    MutexLock lock(mutex_);
    ++helpers_;
  }
  void Leave() {
    MutexLock lock(mutex_);
    // Under the lock: the caller may destroy the loop once it can take it.
    if (--helpers_ == 0) left_.NotifyOne();
  }
  void AwaitHelpers() {
    MutexLock lock(mutex_);
    while (helpers_ > 0) left_.Wait(mutex_);
  }

 private:
  const int64_t count_;
  const int64_t grain_;
  const std::function<void(int64_t, int64_t)>& body_;
  std::atomic<int64_t> next_{0};
  Mutex mutex_;  // taken with ComputePool::mutex_ held, never the other way round
  CondVar left_;
  int helpers_ GUARDED_BY(mutex_) = 0;  // workers that have entered and not left
};

ComputePool::ComputePool(int threads) {
  workers_.reserve(std::max(threads - 1, 0));
  for (int i = 1; i < threads; ++i) workers_.emplace_back([this] { Work(); });
}

ComputePool::~ComputePool() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
  }
  wake_.NotifyAll();
  for (std::thread& worker : workers_) worker.join();
}

void ComputePool::ParallelFor(int64_t count, int64_t grain,
                              const std::function<void(int64_t begin, int64_t end)>& body) {
  if (count <= 0) return;
  const int64_t range = std::max({grain, count / (kRangesPerThread * threads()), int64_t{1}});
  if (workers_.empty() || range >= count) {
    body(0, count);
    return;
  }
  Loop loop(count, range, body);
  {
    MutexLock lock(mutex_);
    loops_.push_back(&loop);
  }
  wake_.NotifyAll();
  loop.Run();
  // Threads wait only for ranges that are being computed, and those belong to loops
  // begun later than the one waited for, so no circle of waiting can close.
  Remove(&loop);
  loop.AwaitHelpers();
}

// Nothing is left of it to hand out.
void ComputePool::Remove(const Loop* loop) {
  MutexLock lock(mutex_);
  const auto it = std::find(loops_.begin(), loops_.end(), loop);
  if (it != loops_.end()) loops_.erase(it);
}

void ComputePool::Work() {
  SingleThreadedLibraries();
  while (Loop* const loop = EnterNext()) {
    loop->Run();
    Remove(loop);
    loop->Leave();
  }
}

ComputePool::Loop* ComputePool::EnterNext() {
  MutexLock lock(mutex_);
  while (loops_.empty() && !stopping_) wake_.Wait(mutex_);
  if (loops_.empty()) return nullptr;
  loops_.front()->Enter();
  return loops_.front();
}

void ComputePool::SingleThreadedLibraries() {
  omp_set_num_threads(1);
  openblas_set_num_threads(1);
}

}  // namespace sightline
