// Says when a line that repeats may be written again.
//
//   int64_t suppressed = 0;
//   if (limiter.Allow(absl::StrCat(method, "/", code), &suppressed)) {
//     Log(Severity::kWarning, "call failed", {..., {"suppressed", suppressed}});
//   }
#ifndef SIGHTLINE_COMMON_LOG_LOG_LIMITER_H_
#define SIGHTLINE_COMMON_LOG_LOG_LIMITER_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/base/clock.h"
#include "common/base/mutex.h"

namespace sightline {

// At most one line per key and period.  Thread-safe.
class LogLimiter {
 public:
  // `clock` must outlive the limiter.  At most `max_keys` keys are remembered: when more
  // turn up, those whose period is over are forgotten, and if that frees nothing the new
  // key shares one budget with all others that found no room.
  LogLimiter(Clock* clock, absl::Duration period, size_t max_keys = 1000);

  // True once per period and key; then `*suppressed` is how many times the answer was no
  // since the last yes.
  bool Allow(absl::string_view key, int64_t* suppressed);

 private:
  struct Entry {
    absl::Time next;
    int64_t suppressed = 0;
  };

  void ForgetExpired(absl::Time now) REQUIRES(mutex_);

  Clock* const clock_;
  const absl::Duration period_;
  const size_t max_keys_;
  Mutex mutex_;
  std::map<std::string, Entry, std::less<>> entries_ GUARDED_BY(mutex_);
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_LOG_LOG_LIMITER_H_
