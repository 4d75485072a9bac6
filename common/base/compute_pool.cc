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
struct ComputePool::Loop {
  const int64_t count;
  const int64_t grain;
  const std::function<void(int64_t, int64_t)>& body;
  std::atomic<int64_t> next{0};
  int helpers = 0;               // workers inside Run; guarded by ComputePool::mutex_
  std::condition_variable left;  // helpers became 0

  Loop(int64_t n, int64_t g, const std::function<void(int64_t, int64_t)>& b)
      : count(n), grain(g), body(b) {}

  // Takes ranges until none is left.
  void Run() {
    for (;;) {
      const int64_t begin = next.fetch_add(grain, std::memory_order_relaxed);
      if (begin >= count) return;
      body(begin, std::min(begin + grain, count));
    }
  }
};

ComputePool::ComputePool(int threads) {
  workers_.reserve(std::max(threads - 1, 0));
  for (int i = 1; i < threads; ++i) workers_.emplace_back([this] { Work(); });
}

ComputePool::~ComputePool() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
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
    std::lock_guard<std::mutex> lock(mutex_);
    loops_.push_back(&loop);
  }
  wake_.notify_all();
  loop.Run();
  // Threads wait only for ranges that are being computed, and those belong to loops
  // begun later than the one waited for, so no circle of waiting can close.
  std::unique_lock<std::mutex> lock(mutex_);
  const auto it = std::find(loops_.begin(), loops_.end(), &loop);
  if (it != loops_.end()) loops_.erase(it);
  loop.left.wait(lock, [&] { return loop.helpers == 0; });
}

void ComputePool::Work() {
  SingleThreadedLibraries();
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return stopping_ || !loops_.empty(); });
    if (loops_.empty()) return;
    Loop* const loop = loops_.front();
    ++loop->helpers;
    lock.unlock();
    loop->Run();
    lock.lock();
    // Nothing is left to hand out; others must not be sent here.
    const auto it = std::find(loops_.begin(), loops_.end(), loop);
    if (it != loops_.end()) loops_.erase(it);
    // Under the lock: the caller may destroy the loop once it can take it.
    if (--loop->helpers == 0) loop->left.notify_one();
  }
}

void ComputePool::SingleThreadedLibraries() {
  omp_set_num_threads(1);
  openblas_set_num_threads(1);
}

}  // namespace sightline
