#include "common/log/log_limiter.h"

#include <utility>

namespace sightline {
namespace {

// The one budget of all keys for which there is no room; no caller's key is empty.
constexpr absl::string_view kOverflowKey = "";

}  // namespace

LogLimiter::LogLimiter(Clock* clock, absl::Duration period, size_t max_keys)
    : clock_(clock), period_(period), max_keys_(max_keys) {}

bool LogLimiter::Allow(absl::string_view key, int64_t* suppressed) {
  const absl::Time now = clock_->Now();
  MutexLock lock(mutex_);
  auto entry = entries_.find(key);
  if (entry == entries_.end()) {
    if (entries_.size() >= max_keys_) ForgetExpired(now);
    if (entries_.size() >= max_keys_) key = kOverflowKey;
    entry = entries_.emplace(std::string(key), Entry{now, 0}).first;
  }
  if (now < entry->second.next) {
    ++entry->second.suppressed;
    return false;
  }
  *suppressed = std::exchange(entry->second.suppressed, 0);
  entry->second.next = now + period_;
  return true;
}

void LogLimiter::ForgetExpired(absl::Time now) {
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    entry = entry->second.next <= now ? entries_.erase(entry) : std::next(entry);
  }
}

}  // namespace sightline
