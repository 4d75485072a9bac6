#include "common/rpc/call_gate.h"

#include <algorithm>
#include <exception>
#include <map>
#include <new>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/error_details.h"
#include "common/base/status_macros.h"
#include "common/log/log.h"

namespace sightline {
namespace {

constexpr absl::Duration kLogPeriod = absl::Seconds(10);

// What is always admitted takes less than this, or it is no status call of ours.
constexpr int64_t kSmallRequest = 64 << 10;

// Handlers see their deadline at the next look, and a batch in progress is not broken off.
constexpr absl::Duration kOverrun = absl::Minutes(1);

// Whose fault a failure is decides how loud it is told.
Severity SeverityOf(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kUnknown:
    case absl::StatusCode::kInternal:
    case absl::StatusCode::kDataLoss:
    case absl::StatusCode::kUnimplemented:
      return Severity::kError;
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kResourceExhausted:
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kAborted:
      return Severity::kWarning;
    default:
      return Severity::kInfo;
  }
}

absl::Status RunCatching(const CallContext& call,
                         absl::FunctionRef<absl::Status(const CallContext&)> handler) {
  try {
    return handler(call);
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError("the server has too little memory for this call");
  } catch (const std::exception& error) {
    // A bug.  What it says is for our log, not for the caller.
    Log(Severity::kError, "exception in a handler",
        {{"what", error.what()}, {"request_id", call.request_id()}});
  } catch (...) {
    Log(Severity::kError, "exception in a handler", {{"request_id", call.request_id()}});
  }
  return absl::InternalError("the server met an error of its own; its log has more");
}

// Adds one to a gauge and a count for a scope.
class InFlight {
 public:
  InFlight(const Gauge& gauge, std::atomic<int>* count) : gauge_(gauge), count_(count) {
    gauge_.Add(1);
    now_ = count_ == nullptr ? 0 : count_->fetch_add(1, std::memory_order_relaxed) + 1;
  }
  ~InFlight() {
    if (count_ != nullptr) count_->fetch_sub(1, std::memory_order_relaxed);
    gauge_.Add(-1);
  }
  InFlight(const InFlight&) = delete;
  InFlight& operator=(const InFlight&) = delete;

  // Calls in progress when this one began, itself included.
  int now() const { return now_; }

 private:
  const Gauge gauge_;
  std::atomic<int>* const count_;
  int now_ = 0;
};

// Holds part of a total for a scope, if there is room for it.
class Reservation {
 public:
  Reservation(const Gauge& gauge, std::atomic<int64_t>* total, int64_t most, int64_t amount)
      : gauge_(gauge), total_(total), amount_(amount) {
    int64_t held = total_->load(std::memory_order_relaxed);
    while (amount_ <= most - held && !made_) {
      made_ = total_->compare_exchange_weak(held, held + amount_, std::memory_order_relaxed);
    }
    if (made_) gauge_.Add(static_cast<double>(amount_));
  }
  ~Reservation() {
    if (!made_) return;
    total_->fetch_sub(amount_, std::memory_order_relaxed);
    gauge_.Add(-static_cast<double>(amount_));
  }
  Reservation(const Reservation&) = delete;
  Reservation& operator=(const Reservation&) = delete;

  bool made() const { return made_; }

 private:
  const Gauge gauge_;
  std::atomic<int64_t>* const total_;
  const int64_t amount_;
  bool made_ = false;
};

absl::Status TooManyCalls(int most) {
  return MakeError(reasons::kServerBusy,
                   absl::StrCat("the server has ", most,
                                " calls in progress, as many as it takes; try again later"));
}

absl::Status TooManyBytes(const RequestSize& size, int64_t most) {
  const bool alone = size.memory_bytes > most;
  const std::string request =
      absl::StrCat("a request of ", size.wire_bytes, " bytes, which can take ", size.memory_bytes,
                   alone ? " or more" : "", " in memory, ");
  const std::map<std::string, std::string> numbers = {
      {"requestBytes", absl::StrCat(size.wire_bytes)},
      {"memoryBytes", absl::StrCat(size.memory_bytes)}};
  if (alone) {
    const absl::Status refused =
        MakeError(reasons::kRequestTooLarge,
                  absl::StrCat(request, "is more than the ", most,
                               " that the server has for all requests together; ask for less "
                               "at once"),
                  numbers);
    return WithRetryDelay(refused, absl::InfiniteDuration());
  }
  return MakeError(reasons::kTooManyBytes,
                   absl::StrCat(request,
                                "does not fit beside those in progress, for which "
                                "the server has ",
                                most, " together; try again later"),
                   numbers);
}

}  // namespace

GatedMethod::GatedMethod(CallGate* calls, std::string service, std::string method,
                         bool always_admitted)
    : calls_(calls),
      service_(std::move(service)),
      method_(std::move(method)),
      always_admitted_(always_admitted) {
  const MetricLabels labels = {{"service", service_}, {"method", method_}};
  for (size_t code = 0; code < finished_.size(); ++code) {
    MetricLabels with_code = labels;
    with_code["code"] = StatusCodeName(static_cast<absl::StatusCode>(code));
    finished_[code] = calls_->metrics_->AddCounter(
        "rpc_calls_total", "Calls that ended, by canonical code.", with_code);
  }
  latency_ = calls_->metrics_->AddHistogram("rpc_latency_seconds",
                                            "Time from a handler's start to its answer.",
                                            LatencyBuckets(), labels);
  in_flight_ = calls_->metrics_->AddGauge("rpc_in_flight", "Calls in progress.", labels);
}

absl::Status GatedMethod::Serve(const IncomingCall& incoming,
                                absl::FunctionRef<absl::Status(const CallContext&)> handler) {
  const absl::Time start = calls_->clock_->Now();
  const absl::StatusOr<RequestSize>& size = incoming.size;
  const int max_calls = calls_->options_.max_concurrent_calls;
  const bool counted = !always_admitted_ || (size.ok() && size->memory_bytes > kSmallRequest);
  const InFlight in_flight(in_flight_, counted ? &calls_->calls_in_flight_ : nullptr);

  absl::Status status = size.status();
  if (in_flight.now() > max_calls) {
    status = TooManyCalls(max_calls);
  } else if (status.ok()) {
    if (counted) calls_->last_admitted_ns_.store(absl::ToUnixNanos(start));
    status = Admit(incoming, counted, handler);
  }
  const absl::Duration took = calls_->clock_->Now() - start;
  finished_[std::min<size_t>(static_cast<size_t>(status.code()), finished_.size() - 1)].Increment();
  latency_.Observe(took);
  if (!status.ok()) LogFailure(status, incoming.request_id, took);
  return status;
}

absl::Status GatedMethod::Admit(const IncomingCall& incoming, bool counted,
                                absl::FunctionRef<absl::Status(const CallContext&)> handler) {
  const int64_t most = calls_->options_.max_in_flight_bytes;
  const Reservation memory(calls_->in_flight_bytes_, &calls_->bytes_in_flight_, most,
                           counted ? incoming.size->memory_bytes : 0);
  return memory.made() ? Run(incoming, handler) : TooManyBytes(*incoming.size, most);
}

absl::Status GatedMethod::Run(const IncomingCall& incoming,
                              absl::FunctionRef<absl::Status(const CallContext&)> handler) {
  const absl::Duration time = calls_->TimeFor(incoming.time);
  const CallContext call =
      CallContext(calls_->clock_, calls_->clock_->Now() + time, incoming.cancellation)
          .WithRequestId(incoming.request_id);
  RETURN_IF_ERROR(call.Check(absl::StrCat(service_, ".", method_)));
  return RunCatching(call, handler);
}

void GatedMethod::LogFailure(const absl::Status& status, const std::string& request_id,
                             absl::Duration took) {
  const std::string code = StatusCodeName(status.code());
  int64_t suppressed = 0;
  if (!calls_->log_limiter_.Allow(absl::StrCat(service_, "/", method_, "/", code), &suppressed)) {
    return;
  }
  Log(SeverityOf(status.code()), "call failed",
      {{"service_name", service_},
       {"method", method_},
       {"code", code},
       {"message", status.message()},
       {"request_id", request_id},
       {"took_s", took},
       {"suppressed", suppressed}});
}

CallGate::CallGate(const RpcServerOptions& options, MetricsRegistry* metrics, Clock* clock)
    : options_(options),
      metrics_(metrics),
      clock_(clock),
      log_limiter_(clock, kLogPeriod),
      in_flight_bytes_(metrics->AddGauge("rpc_in_flight_bytes",
                                         "Memory that requests of calls in progress can take, "
                                         "in bytes.")) {}

absl::Duration CallGate::TimeFor(absl::Duration callers) const {
  return callers == absl::InfiniteDuration() ? options_.default_deadline
                                             : std::min(callers, options_.max_deadline);
}

bool CallGate::stuck() const {
  if (in_flight() < options_.max_concurrent_calls) return false;
  const absl::Time last_admitted = absl::FromUnixNanos(last_admitted_ns_.load());
  return clock_->Now() - last_admitted > options_.max_deadline + kOverrun;
}

GatedMethod* CallGate::AddMethod(absl::string_view service, absl::string_view method,
                                 Admission admission) {
  std::unique_ptr<GatedMethod> added(new GatedMethod(
      this, std::string(service), std::string(method), admission == Admission::kAlways));
  MutexLock lock(mutex_);
  methods_.push_back(std::move(added));
  return methods_.back().get();
}

}  // namespace sightline
