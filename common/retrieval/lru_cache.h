// Values by key, bounded in bytes: what has not been asked for longest goes first.
#ifndef SIGHTLINE_COMMON_RETRIEVAL_LRU_CACHE_H_
#define SIGHTLINE_COMMON_RETRIEVAL_LRU_CACHE_H_

#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "common/base/mutex.h"
#include "common/metrics/metrics.h"

namespace sightline {

// What a cache tells of itself; the handles may be those that count nothing.
struct LruCacheMetrics {
  Gauge bytes;
  Gauge entries;
  Counter evictions;
};

// Thread-safe.  Values are shared, so whoever has got one keeps it, and they end outside the lock.
template <typename Value>
class LruCache {
 public:
  // What an entry takes beside its value: list, table, key of 32 bytes, reference counts.
  static constexpr int64_t kEntryBytes = 256;

  // With 0 bytes nothing is ever kept.
  LruCache(int64_t max_bytes, LruCacheMetrics metrics) : max_bytes_(max_bytes), metrics_(metrics) {}
  LruCache(const LruCache&) = delete;
  LruCache& operator=(const LruCache&) = delete;

  int64_t max_bytes() const { return max_bytes_; }

  // Null if it is not there.
  std::shared_ptr<const Value> Find(absl::string_view key) {
    MutexLock lock(mutex_);
    const auto found = places_.find(key);
    if (found == places_.end()) return nullptr;
    entries_.splice(entries_.begin(), entries_, found->second);
    return found->second->value;
  }

  // Keeps `value`, which takes `bytes`, in the place of an older one of that key.  One that alone
  // is larger than the cache is not kept.
  void Put(const std::string& key, std::shared_ptr<const Value> value, int64_t bytes) {
    bytes += kEntryBytes;
    if (bytes > max_bytes_) return;
    Entries gone;  // ends after the lock
    MutexLock lock(mutex_);
    const auto found = places_.find(key);
    if (found != places_.end()) TakeOut(found->second, gone);
    entries_.push_front({key, std::move(value), bytes});
    places_.emplace(entries_.front().key, entries_.begin());
    bytes_ += bytes;
    while (bytes_ > max_bytes_) {
      TakeOut(std::prev(entries_.end()), gone);
      metrics_.evictions.Increment();
    }
    metrics_.bytes.Set(static_cast<double>(bytes_));
    metrics_.entries.Set(static_cast<double>(entries_.size()));
  }

  int64_t bytes() const {
    MutexLock lock(mutex_);
    return bytes_;
  }
  int64_t entries() const {
    MutexLock lock(mutex_);
    return static_cast<int64_t>(entries_.size());
  }

 private:
  struct Entry {
    std::string key;
    std::shared_ptr<const Value> value;
    int64_t bytes;
  };
  using Entries = std::list<Entry>;

  void TakeOut(typename Entries::iterator entry, Entries& gone) REQUIRES(mutex_) {
    places_.erase(entry->key);
    bytes_ -= entry->bytes;
    gone.splice(gone.begin(), entries_, entry);
  }

  const int64_t max_bytes_;
  const LruCacheMetrics metrics_;
  mutable Mutex mutex_;
  Entries entries_ GUARDED_BY(mutex_);  // asked for last comes first
  // The keys are those of the entries.
  absl::flat_hash_map<absl::string_view, typename Entries::iterator> places_ GUARDED_BY(mutex_);
  int64_t bytes_ GUARDED_BY(mutex_) = 0;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_RETRIEVAL_LRU_CACHE_H_
