// What happens around every handler, whatever brought its request: admission, deadline,
// cancellation, metrics, log lines.  A handler is left with the work.  rpc_service.h brings what
// comes over gRPC; nothing here knows of that.
#ifndef SIGHTLINE_COMMON_RPC_CALL_GATE_H_
#define SIGHTLINE_COMMON_RPC_CALL_GATE_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/base/call_context.h"
#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "common/log/log_limiter.h"
#include "common/metrics/metrics.h"
#include "common/rpc/request_memory.h"
#include "common/rpc/rpc_options.h"

namespace sightline {

class CallGate;

// A call, as whatever brought it tells of it.
struct IncomingCall {
  // As RequestIdOr gives it.
  std::string request_id;
  // What the request takes, or why that cannot be told.
  absl::StatusOr<RequestSize> size;
  // That the caller left for the call; infinite if none was said.
  absl::Duration time = absl::InfiniteDuration();
  // Of whoever brought it, to be cancelled when the caller goes away.
  std::shared_ptr<Cancellation> cancellation = std::make_shared<Cancellation>();
};

// One method of one service.  Thread-safe.
class GatedMethod {
 public:
  // Runs `handler` for one call and returns its status, for the caller.  In order:
  //
  // - RESOURCE_EXHAUSTED if too much is in progress: calls, reason SERVER_BUSY, or memory that
  //   their requests take, reason TOO_MANY_BYTES; and if this request would not fit by itself,
  //   reason REQUEST_TOO_LARGE, for which no later time is better;
  // - the error in the place of `size`, if the request could not be measured;
  // - the deadline is the caller's, at most max_deadline from now, or default_deadline;
  //   a call whose time is over already is DEADLINE_EXCEEDED without running `handler`;
  // - `handler` gets the context; its cancellation fires when the caller goes away;
  // - an exception becomes RESOURCE_EXHAUSTED (out of memory) or INTERNAL and is logged;
  // - code, latency and calls in progress are counted; a failure is logged, at most once
  //   in ten seconds for each method and code.
  //
  // The request counts until `handler` has returned.  Call it once per call, from a thread or a
  // fiber that may wait.
  absl::Status Serve(const IncomingCall& incoming,
                     absl::FunctionRef<absl::Status(const CallContext&)> handler);

 private:
  friend class CallGate;
  GatedMethod(CallGate* calls, std::string service, std::string method, bool always_admitted);

  absl::Status Admit(const IncomingCall& incoming, bool counted,
                     absl::FunctionRef<absl::Status(const CallContext&)> handler);
  absl::Status Run(const IncomingCall& incoming,
                   absl::FunctionRef<absl::Status(const CallContext&)> handler);
  void LogFailure(const absl::Status& status, const std::string& request_id, absl::Duration took);

  CallGate* const calls_;
  const std::string service_;
  const std::string method_;
  const bool always_admitted_;
  std::array<Counter, 17> finished_;  // by canonical code
  Histogram latency_;
  Gauge in_flight_;
};

// The methods of one server, and what they share.  Thread-safe.
class CallGate {
 public:
  enum class Admission {
    kLimited,  // counts against max_concurrent_calls and max_in_flight_bytes
    kAlways,   // runs at any load: for status, not for work; counts only if it is large
  };

  // `metrics` and `clock` must outlive this, and this the services that use it.
  CallGate(const RpcServerOptions& options, MetricsRegistry* metrics, Clock* clock = Clock::Real());

  CallGate(const CallGate&) = delete;
  CallGate& operator=(const CallGate&) = delete;

  // Registers a method, e.g. ("sightline.v1.IndexSearch", "SearchIndex"), whose series
  // show up at zero from now on.  Owned by this.
  GatedMethod* AddMethod(absl::string_view service, absl::string_view method,
                         Admission admission = Admission::kLimited);

  // Limited calls in progress, and the memory that the requests take which count.
  int in_flight() const { return calls_in_flight_.load(std::memory_order_relaxed); }
  int64_t in_flight_bytes() const { return bytes_in_flight_.load(std::memory_order_relaxed); }
  int64_t max_in_flight_bytes() const { return options_.max_in_flight_bytes; }

  // What a call has of the time that its caller left for it; infinite: he did not say.
  absl::Duration TimeFor(absl::Duration callers) const;

  // Whether all that may be in progress is, and has been for a minute longer than any call may
  // last: handlers that end no more, so that every call is refused until the process ends.
  bool stuck() const;

 private:
  friend class GatedMethod;

  const RpcServerOptions options_;
  MetricsRegistry* const metrics_;
  Clock* const clock_;
  LogLimiter log_limiter_;
  const Gauge in_flight_bytes_;
  std::atomic<int> calls_in_flight_{0};
  std::atomic<int64_t> bytes_in_flight_{0};
  std::atomic<int64_t> last_admitted_ns_{0};  // by the clock, of a call that counts
  Mutex mutex_;
  std::deque<std::unique_ptr<GatedMethod>> methods_ GUARDED_BY(mutex_);
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_RPC_CALL_GATE_H_
