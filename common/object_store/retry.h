// Another try for what may pass.
#ifndef SIGHTLINE_COMMON_OBJECT_STORE_RETRY_H_
#define SIGHTLINE_COMMON_OBJECT_STORE_RETRY_H_

#include <functional>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/base/call_context.h"

namespace sightline {

struct RetryPolicy {
  int attempts = 8;  // in all, at least one
  // Before the second attempt; it doubles from one to the next, up to the longest.
  absl::Duration first_wait = absl::Milliseconds(100);
  absl::Duration longest_wait = absl::Seconds(10);
  // From 0 to below 1; thread-safe.  What is waited lies between half of the wait and all of it.
  std::function<double()> random;
};

// Calls `attempt` until it returns anything but UNAVAILABLE, which is returned; waits in between
// by the call's clock.  The last UNAVAILABLE once the attempts are spent; CANCELLED or
// DEADLINE_EXCEEDED when the call ends or would end before the next, with what failed last.
absl::Status Retry(const RetryPolicy& policy, const CallContext& call,
                   const std::function<absl::Status()>& attempt);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_OBJECT_STORE_RETRY_H_
