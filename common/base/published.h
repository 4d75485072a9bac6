// A value that is replaced now and then and read all the time.
//
//   Published<Table> table(std::make_shared<const Table>());
//   table.Set(std::move(next));                          // whoever keeps it up to date
//   const std::shared_ptr<const Table> now = table.Get();  // anybody, also meanwhile
//
// Readers take no lock: not even the one inside libstdc++'s std::atomic_load of a
// shared_ptr, which a writer that has lost its core would keep from them.
#ifndef SIGHTLINE_COMMON_BASE_PUBLISHED_H_
#define SIGHTLINE_COMMON_BASE_PUBLISHED_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>
#include <utility>

#include "common/base/mutex.h"

namespace sightline {

namespace published_internal {

// A small number of each thread's own, so that threads on different cores count readers in
// different places.
inline size_t ThreadNumber() {
  static std::atomic<size_t> next{0};
  thread_local const size_t number = next.fetch_add(1, std::memory_order_relaxed);
  return number;
}

}  // namespace published_internal

// Thread-safe.  Outlives all calls.
template <typename T>
class Published {
 public:
  explicit Published(std::shared_ptr<const T> value)
      : current_(new std::shared_ptr<const T>(std::move(value))) {}
  ~Published() { delete current_.load(); }
  Published(const Published&) = delete;
  Published& operator=(const Published&) = delete;

  // What was set last.  Never waits.
  std::shared_ptr<const T> Get() const {
    std::atomic<int64_t>& readers = readers_[published_internal::ThreadNumber() % kStripes].count;
    readers.fetch_add(1);  // seen by Set, or current_ is seen as Set has left it
    std::shared_ptr<const T> value = *current_.load();
    readers.fetch_sub(1, std::memory_order_release);
    return value;
  }

  // Once this returns nobody gets the old value any more, and it belongs to those alone who
  // have got it.  Waits for readers that are in the middle of Get.
  void Set(std::shared_ptr<const T> value) {
    auto next = std::make_unique<const std::shared_ptr<const T>>(std::move(value));
    std::unique_ptr<const std::shared_ptr<const T>> old;  // ends after the lock
    MutexLock lock(writers_);
    old.reset(current_.exchange(next.release()));
    // Each place has to be seen empty once: whoever counts himself in later reads the new one.
    for (const Stripe& stripe : readers_) {
      while (stripe.count.load() != 0) std::this_thread::yield();
    }
  }

 private:
  static constexpr size_t kStripes = 16;
  struct alignas(64) Stripe {
    std::atomic<int64_t> count{0};
  };

  std::atomic<const std::shared_ptr<const T>*> current_;  // never null
  mutable std::array<Stripe, kStripes> readers_;
  Mutex writers_;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_BASE_PUBLISHED_H_
