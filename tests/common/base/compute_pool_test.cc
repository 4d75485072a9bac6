#include "common/base/compute_pool.h"

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "common/base/mutex.h"
#include "tests/support/catch.h"
#include "tests/support/gate.h"

namespace sightline {
namespace {

// A list on which nobody's entry is alone: Add returns when `count` entries are there.
template <typename T>
class Roll {
 public:
  explicit Roll(size_t count) : count_(count) {}

  void Add(T entry) {
    MutexLock lock(mutex_);
    entries_.push_back(std::move(entry));
    changed_.NotifyAll();
    while (entries_.size() < count_) changed_.Wait(mutex_);
  }

  std::vector<T> entries() const {
    MutexLock lock(mutex_);
    return entries_;
  }

 private:
  const size_t count_;
  mutable Mutex mutex_;
  CondVar changed_;
  std::vector<T> entries_ GUARDED_BY(mutex_);
};

TEST_CASE("every element is visited exactly once, in ranges no longer than promised") {
  for (int threads : {1, 2, 3, 8}) {
    ComputePool pool(threads);
    REQUIRE(pool.threads() == threads);
    for (int64_t count : {0, 1, 2, 7, 64, 1001}) {
      for (int64_t grain : {0, 1, 3, 64, 5000}) {
        std::vector<std::atomic<int>> visits(count);
        std::atomic<int64_t> longest{0};
        pool.ParallelFor(count, grain, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) ++visits[i];
          int64_t seen = longest;
          while (seen < end - begin && !longest.compare_exchange_weak(seen, end - begin)) {
          }
        });
        for (const auto& visit : visits) REQUIRE(visit == 1);
        REQUIRE(longest <= std::max({grain, count / threads, std::min<int64_t>(count, 1)}));
      }
    }
  }
}

TEST_CASE("a negative count is no work") {
  ComputePool pool(2);
  pool.ParallelFor(-5, 1, [](int64_t, int64_t) { FAIL("called"); });
}

TEST_CASE("one thread means the calling thread and one range") {
  ComputePool pool(1);
  int calls = 0;
  pool.ParallelFor(100, 1, [&, caller = std::this_thread::get_id()](int64_t begin, int64_t end) {
    ++calls;
    REQUIRE(std::this_thread::get_id() == caller);
    REQUIRE(begin == 0);
    REQUIRE(end == 100);
  });
  REQUIRE(calls == 1);
}

TEST_CASE("threads really work at the same time") {
  ComputePool pool(3);
  // Each of the three ranges ends only when all have begun.
  Roll<std::thread::id> roll(3);
  pool.ParallelFor(3, 1, [&](int64_t, int64_t) { roll.Add(std::this_thread::get_id()); });
  const std::vector<std::thread::id> ids = roll.entries();
  REQUIRE(std::set<std::thread::id>(ids.begin(), ids.end()).size() == 3);
}

TEST_CASE("the call returns only after the slowest range has ended") {
  ComputePool pool(2);
  const std::thread::id caller = std::this_thread::get_id();
  Gate helper_began, caller_ended;
  std::atomic<int> ended{0};
  pool.ParallelFor(2, 1, [&](int64_t, int64_t) {
    if (std::this_thread::get_id() == caller) {
      helper_began.Wait();
      ++ended;
      caller_ended.Open();
    } else {
      helper_began.Open();
      caller_ended.Wait();
      for (int i = 0; i < 1000; ++i) std::this_thread::yield();
      ++ended;
    }
  });
  REQUIRE(ended == 2);
}

TEST_CASE("the caller finishes alone while all workers are held elsewhere") {
  ComputePool pool(2);
  Gate held, release;
  std::thread other([&] {
    // Two ranges, one for `other` itself and one for the only worker.
    std::atomic<int> begun{0};
    pool.ParallelFor(2, 1, [&](int64_t, int64_t) {
      if (++begun == 2) held.Open();
      release.Wait();
    });
  });
  held.Wait();
  std::atomic<int64_t> sum{0};
  pool.ParallelFor(1000, 10, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) sum += i;
  });
  REQUIRE(sum == 499500);
  release.Open();
  other.join();
}

TEST_CASE("nested loops from many callers end and lose nothing") {
  ComputePool pool(4);
  std::atomic<int64_t> leaves{0};
  std::vector<std::thread> callers;
  for (int c = 0; c < 4; ++c) {
    callers.emplace_back([&] {
      for (int round = 0; round < 20; ++round) {
        pool.ParallelFor(6, 1, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) {
            pool.ParallelFor(5, 1, [&](int64_t b, int64_t e) {
              for (int64_t j = b; j < e; ++j) {
                pool.ParallelFor(4, 1, [&](int64_t x, int64_t y) { leaves += y - x; });
              }
            });
          }
        });
      }
    });
  }
  for (auto& caller : callers) caller.join();
  REQUIRE(leaves == int64_t{4} * 20 * 6 * 5 * 4);
}

TEST_CASE("what a loop's bodies wrote is visible to its caller") {
  ComputePool pool(4);
  for (int round = 0; round < 200; ++round) {
    std::vector<int> plain(64, 0);
    pool.ParallelFor(64, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) plain[i] = static_cast<int>(i);
    });
    for (int i = 0; i < 64; ++i) REQUIRE(plain[i] == i);
  }
}

TEST_CASE("the pool's threads enter OpenMP with one thread") {
  omp_set_num_threads(3);
  ComputePool pool(3);
  Roll<std::pair<std::thread::id, int>> roll(3);
  pool.ParallelFor(3, 1, [&](int64_t, int64_t) {
    roll.Add({std::this_thread::get_id(), omp_get_max_threads()});
  });
  for (const auto& [id, max_threads] : roll.entries()) {
    REQUIRE(max_threads == (id == std::this_thread::get_id() ? 3 : 1));
  }
  ComputePool::SingleThreadedLibraries();
  REQUIRE(omp_get_max_threads() == 1);
}

}  // namespace
}  // namespace sightline
