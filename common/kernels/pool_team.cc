#include "common/kernels/pool_team.h"

#include <immintrin.h>

#include <atomic>
#include <cstdint>
#include <exception>
#include <thread>

namespace sightline::kernels {
namespace {

// Looks at `done` until it is true: awake for as long as it takes to wake a thread, then giving way
// to other threads between looks.
template <typename Done>
void Await(const Done& done) {
  constexpr int kAwake = 2000;
  for (int looks = 0; !done(); ++looks) {
    if (looks < kAwake) {
      _mm_pause();
    } else {
      std::this_thread::yield();
    }
  }
}

// The calling thread leads; others help until it has ended.
class PoolTeam final : public Team {
 public:
  explicit PoolTeam(int size) : size_(size), leader_(std::this_thread::get_id()) {}

  int size() const override { return size_; }

  // The leader's.
  void ForEach(int64_t count, absl::FunctionRef<void(int64_t piece, int member)> body) override {
    if (count == 1) return body(0, 0);
    body_ = &body;
    pending_.store(count, std::memory_order_relaxed);
    ++step_;
    // From here on helpers see the step.
    unclaimed_.store(step_ << 32 | static_cast<uint64_t>(count), std::memory_order_release);
    Work(0);
    Await([&] { return pending_.load(std::memory_order_acquire) == 0; });
  }

  void Join(absl::FunctionRef<void(Team* team)> pass) {
    if (std::this_thread::get_id() == leader_) return Lead(pass);
    const int member = 1 + helpers_.fetch_add(1);
    while (!ended_.load(std::memory_order_acquire)) {
      Work(member);
      Await([&] {
        return HasPieces(unclaimed_.load(std::memory_order_relaxed)) ||
               ended_.load(std::memory_order_acquire);
      });
    }
  }

  // Once all have left.
  void RethrowError() const {
    if (error_ != nullptr) std::rethrow_exception(error_);
  }

 private:
  void Lead(absl::FunctionRef<void(Team* team)> pass) {
    try {
      if (!ended_.load(std::memory_order_relaxed)) pass(this);
    } catch (...) {
      error_ = std::current_exception();
    }
    ended_.store(true, std::memory_order_release);
  }

  static bool HasPieces(uint64_t unclaimed) { return static_cast<uint32_t>(unclaimed) != 0; }

  // Takes pieces until none is left.  A step does not end before its claimed pieces have, so what
  // a claim has seen of it stays valid.
  void Work(int member) {
    uint64_t unclaimed = unclaimed_.load(std::memory_order_acquire);
    while (HasPieces(unclaimed)) {
      if (!unclaimed_.compare_exchange_weak(unclaimed, unclaimed - 1, std::memory_order_acq_rel,
                                            std::memory_order_acquire)) {
        continue;
      }
      (*body_)(static_cast<uint32_t>(unclaimed) - 1, member);
      pending_.fetch_sub(1, std::memory_order_acq_rel);
      unclaimed = unclaimed_.load(std::memory_order_acquire);
    }
  }

  const int size_;
  const std::thread::id leader_;
  std::exception_ptr error_;
  std::atomic<int> helpers_{0};
  std::atomic<bool> ended_{false};
  uint64_t step_ = 0;  // the leader's
  absl::FunctionRef<void(int64_t, int)>* body_ = nullptr;
  // Number of the step, and in the lower half how many of its pieces nobody has.
  alignas(64) std::atomic<uint64_t> unclaimed_{0};
  alignas(64) std::atomic<int64_t> pending_{0};
};

}  // namespace

void RunWithTeam(ComputePool* pool, absl::FunctionRef<void(Team* team)> pass) {
  if (pool == nullptr || pool->threads() == 1) {
    TeamOfOne one;
    return pass(&one);
  }
  PoolTeam team(pool->threads());
  pool->ParallelFor(pool->threads(), /*grain=*/1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) team.Join(pass);
  });
  team.RethrowError();
}

}  // namespace sightline::kernels
