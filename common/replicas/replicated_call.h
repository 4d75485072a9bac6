// One call to a replica set: its attempts, and who of them wins.  For replicas.cc.
#ifndef SIGHTLINE_COMMON_REPLICAS_REPLICATED_CALL_H_
#define SIGHTLINE_COMMON_REPLICAS_REPLICATED_CALL_H_

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/meta/type_traits.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/api/clients.h"
#include "common/api/precision.h"
#include "common/base/call_context.h"
#include "common/base/error_details.h"
#include "common/base/mutex.h"
#include "common/base/random_access_file.h"
#include "common/replicas/recent_latency.h"
#include "common/replicas/replica_set.h"

namespace sightline {

// What the answer of one replica means for the call.
enum class AttemptVerdict {
  kFinal,    // is the call's answer
  kFailed,   // another replica may do better
  kRefused,  // likewise, and this one did no work: it does not hold what was asked about
};

// Whether the replica itself may be broken, or what it has of one generation: a file that it
// cannot read is UNAVAILABLE, but the replica is not, and may hold other generations well.
inline bool IsFault(const absl::Status& status) {
  return absl::IsInternal(status) || absl::IsUnknown(status) || absl::IsDataLoss(status) ||
         IsFailedRead(status);
}

inline AttemptVerdict Judge(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kUnavailable:
      if (HasReason(status, reasons::kGenerationNotHeld) ||
          HasReason(status, reasons::kShardNotHeld) || HasReason(status, reasons::kServerLoading) ||
          HasReason(status, reasons::kPrecisionChanged)) {
        return AttemptVerdict::kRefused;
      }
      return absl::IsUnavailable(status) ? AttemptVerdict::kFailed : AttemptVerdict::kFinal;
    case absl::StatusCode::kResourceExhausted:
    case absl::StatusCode::kCancelled:  // not by us, or nobody would ask: the server stops
      return AttemptVerdict::kFailed;
    default:
      // Asking another does no harm: all calls are reads.
      return IsFault(status) ? AttemptVerdict::kFailed : AttemptVerdict::kFinal;
  }
}

// `answer`, but what does not know the call is no replica: another server has the address
// now, or always had.  To the caller that is no UNIMPLEMENTED of the whole fleet.
template <typename Response>
absl::StatusOr<Response> UnlessWrongServer(absl::StatusOr<Response> answer) {
  if (!absl::IsUnimplemented(answer.status())) return answer;
  return MakeError(reasons::kWrongServer, answer.status().message());
}

// How the models compute that a request is about, and an answer.
template <typename Request, typename = void>
struct WishIn {
  static PrecisionWish Of(const Request& /*request*/) { return {}; }
  template <typename Response>
  static std::string Computed(const Response& /*response*/) {
    return "";
  }
};
template <typename Request>
struct WishIn<Request, absl::void_t<decltype(Request::wish)>> {
  static PrecisionWish Of(const Request& request) { return request.wish; }
  template <typename Response>
  static std::string Computed(const Response& response) {
    return response.precision;
  }
};

// `answer`, but of another precision than was wished it is none.  A server that knows of wishes
// refuses by itself; one of an earlier release, or one that was to tell nothing, does not.
template <typename Request, typename Response>
absl::StatusOr<Response> UnlessOtherPrecision(const PrecisionWish& wish,
                                              absl::StatusOr<Response> answer) {
  if (!answer.ok() || wish.or_any || !wish.precision.has_value()) return answer;
  const std::string computed = WishIn<Request>::Computed(*answer);
  if (computed == *wish.precision) return answer;
  return MakeError(
      reasons::kPrecisionChanged,
      absl::StrCat("computed in '", computed, "', wanted was '", *wish.precision, "'"));
}

// Owned by the callbacks of its attempts, and by nobody once they have run.  Timers know
// it weakly.  Under its mutex nothing of others runs.
template <typename Client, typename Request, typename Response>
class ReplicatedCall
    : public std::enable_shared_from_this<ReplicatedCall<Client, Request, Response>> {
 public:
  using Set = ReplicaSet<Client>;
  using Method = void (Client::*)(const CallContext&, Request, Done<Response>);

  // `latency`: of calls of this method to the set.  `wanted_by`: when the answer is wanted, if
  // that is before the call's deadline.  `work`: what the request weighs in the choice among
  // replicas.
  ReplicatedCall(std::shared_ptr<Set> set, Method method, std::shared_ptr<RecentLatency> latency,
                 const CallContext& call, absl::Time wanted_by, Request request, int64_t work,
                 Done<Response> done)
      : set_(std::move(set)),
        method_(method),
        latency_(std::move(latency)),
        call_(call),
        wanted_by_(wanted_by),
        request_(std::move(request)),
        wish_(WishIn<Request>::Of(request_)),
        work_(work),
        alone_(set_->size() <= 1),
        done_(std::move(done)) {}

  // Once.
  void Start() {
    set_->budget().Earn();
    set_->options().metrics.calls.Increment();
    if (Try(Cause::kFirst)) return;
    if (set_->size() == 0 || !wish_.precision.has_value()) {
      return done_(MakeError(reasons::kNoReplica, "no replica is known"));
    }
    done_(MakeError(reasons::kPrecisionChanged,
                    absl::StrCat("no replica computes in '", *wish_.precision, "' any more")));
  }

 private:
  enum class Cause { kFirst, kFailure, kRefusal, kSilence, kHedge };

  struct Attempt {
    std::shared_ptr<ReplicaMember<Client>> member;
    CallContext context;  // a child of the call
    absl::Time started;
    bool running = true;
    bool late = false;
  };

  // Asks one more replica, if there is one and reason to.
  bool Try(Cause cause) EXCLUDES(mutex_) {
    absl::optional<size_t> index;
    {
      MutexLock lock(mutex_);
      index = AddAttempt(cause);
    }
    if (index.has_value()) Send(*index, cause);
    return index.has_value();
  }

  // The index of the attempt, which is to be sent once mutex_ is not held any more.
  absl::optional<size_t> AddAttempt(Cause cause) REQUIRES(mutex_) {
    absl::optional<Attempt> attempt = NextAttempt(cause);
    if (!attempt.has_value()) return absl::nullopt;
    attempts_.push_back(*std::move(attempt));
    return attempts_.size() - 1;
  }

  void Send(size_t index, Cause cause) EXCLUDES(mutex_) {
    const Attempt attempt = AttemptAt(index);
    Count(cause);
    attempt.member->work.fetch_add(work_, std::memory_order_relaxed);
    if (!alone_) SetTimers(index, attempt.started);
    // Nobody else needs the request of a call that has nobody else to go to.
    Request request = alone_ ? std::move(request_) : request_;
    ((*attempt.member->client).*method_)(
        attempt.context, std::move(request),
        [self = this->shared_from_this(), index](absl::StatusOr<Response> answer) {
          self->OnAnswer(index, UnlessOtherPrecision<Request>(
                                    self->wish_, UnlessWrongServer(std::move(answer))));
        });
  }

  absl::optional<Attempt> NextAttempt(Cause cause) REQUIRES(mutex_) {
    if (cause != Cause::kFirst && (ended_ || alone_ || !call_.Check("").ok())) {
      return absl::nullopt;
    }
    std::vector<std::shared_ptr<ReplicaMember<Client>>> asked;
    for (const Attempt& attempt : attempts_) {
      // Whoever is in time may answer yet; only a hedge does not wait for that.
      if (cause != Cause::kHedge && attempt.running && !attempt.late) return absl::nullopt;
      asked.push_back(attempt.member);
    }
    const bool paid = cause != Cause::kFirst && cause != Cause::kRefusal;
    if (paid && paid_attempts_ + 1 >= set_->options().max_attempts) return absl::nullopt;
    const absl::Time now = call_.clock()->Now();
    const auto pay = [&] {
      const auto need =
          cause == Cause::kFailure ? RetryBudget::Need::kFailed : RetryBudget::Need::kSlow;
      if (!paid || set_->budget().Spend(now, need)) return true;
      set_->options().metrics.unpaid.Increment();
      return false;
    };
    auto member = set_->Pick(request_.target, wish_, asked, now, pay);
    if (member == nullptr) return absl::nullopt;
    paid_attempts_ += paid ? 1 : 0;
    return Attempt{std::move(member), call_.Child(), now};
  }

  void SetTimers(size_t index, absl::Time started) {
    const ReplicaOptions& options = set_->options();
    if (options.timer == nullptr) return;
    const auto at = [&](absl::Duration patience, void (ReplicatedCall::*then)(size_t)) {
      options.timer->At(started + patience, [weak = this->weak_from_this(), index, then] {
        if (auto alive = weak.lock()) ((*alive).*then)(index);
      });
    };
    // Once it is late, there is the rest of the deadline to share.
    const absl::Time end =
        started < wanted_by_ ? std::min(wanted_by_, call_.deadline()) : call_.deadline();
    absl::Duration patience = options.max_patience;
    if (end != absl::InfiniteFuture()) {
      patience = std::min(patience, (end - started) * options.patience);
    }
    at(patience, &ReplicatedCall::OnSilence);
    if (!options.hedge || index > 0) return;
    const absl::Duration usual = latency_->p95();
    if (usual < patience) at(usual, &ReplicatedCall::OnHedge);
  }

  void OnSilence(size_t index) {
    const Attempt attempt = AttemptAt(index);
    {
      MutexLock lock(mutex_);
      if (ended_ || !attempts_[index].running) return;
      attempts_[index].late = true;
    }
    attempt.member->health.NoteLate(attempt.started, call_.clock()->Now());
    Try(Cause::kSilence);
  }

  void OnHedge(size_t index) {
    {
      MutexLock lock(mutex_);
      if (!attempts_[index].running) return;
    }
    Try(Cause::kHedge);
  }

  void OnAnswer(size_t index, absl::StatusOr<Response> answer) {
    const Attempt attempt = AttemptAt(index);
    attempt.member->work.fetch_sub(work_, std::memory_order_relaxed);
    const AttemptVerdict verdict = Judge(answer.status());
    Learn(attempt, answer.status(), verdict);
    if (HasReason(answer.status(), reasons::kPrecisionChanged)) {
      set_->NotePrecisionChanged(*attempt.member);
    }
    const Cause cause = verdict == AttemptVerdict::kRefused ? Cause::kRefusal : Cause::kFailure;
    absl::optional<size_t> next;
    {
      // In one go: of two attempts that fail together, the one that is last must see what
      // the other has begun.
      MutexLock lock(mutex_);
      attempts_[index].running = false;
      if (ended_) return;
      if (verdict != AttemptVerdict::kFinal) {
        // What went wrong says more than what was not tried.
        if (failure_.ok() || verdict == AttemptVerdict::kFailed) failure_ = answer.status();
        next = AddAttempt(cause);
        if (!next.has_value() && AnyRunning()) return;
        answer = failure_;
      }
      ended_ = !next.has_value();
    }
    if (next.has_value()) {
      Send(*next, cause);
    } else {
      End(std::move(answer));
    }
  }

  bool AnyRunning() const REQUIRES(mutex_) {
    return std::any_of(attempts_.begin(), attempts_.end(),
                       [](const Attempt& attempt) { return attempt.running; });
  }

  // An attempt that ended with its time, or was cancelled, has taught nothing.
  void Learn(const Attempt& attempt, const absl::Status& status, AttemptVerdict verdict) {
    const absl::Time now = call_.clock()->Now();
    ReplicaHealth& health = attempt.member->health;
    if (IsFault(status)) {
      health.NoteFault(attempt.started, now);
    } else if (verdict == AttemptVerdict::kFailed && absl::IsUnavailable(status)) {
      health.NoteDown(now);
    } else if (!absl::IsDeadlineExceeded(status) && !absl::IsCancelled(status)) {
      health.NoteAnswer();
    }
    if (status.ok() && set_->options().hedge) latency_->Add(now - attempt.started);
  }

  void End(absl::StatusOr<Response> answer) EXCLUDES(mutex_) {
    std::vector<std::shared_ptr<Cancellation>> attempts;
    {
      MutexLock lock(mutex_);
      for (const Attempt& attempt : attempts_) attempts.push_back(attempt.context.cancellation());
    }
    // The winner's too: clients may have left callbacks in it that own this call.
    for (const auto& cancellation : attempts) cancellation->Cancel();
    // Let go at once, since the losers' callbacks may keep this for a while.
    const Done<Response> done = std::move(done_);
    done(std::move(answer));
  }

  Attempt AttemptAt(size_t index) const EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    return attempts_[index];
  }

  void Count(Cause cause) const {
    const ReplicaMetrics& metrics = set_->options().metrics;
    switch (cause) {
      case Cause::kFirst:
        return;
      case Cause::kFailure:
        return metrics.after_failure.Increment();
      case Cause::kRefusal:
        return metrics.after_refusal.Increment();
      case Cause::kSilence:
        return metrics.after_silence.Increment();
      case Cause::kHedge:
        return metrics.hedges.Increment();
    }
  }

  const std::shared_ptr<Set> set_;
  const Method method_;
  const std::shared_ptr<RecentLatency> latency_;
  const CallContext call_;
  const absl::Time wanted_by_;
  Request request_;  // given away if alone_
  const PrecisionWish wish_;
  const int64_t work_;
  const bool alone_;     // there was one replica at most when the call began
  Done<Response> done_;  // of whoever sets ended_

  mutable Mutex mutex_;
  std::vector<Attempt> attempts_ GUARDED_BY(mutex_);
  int paid_attempts_ GUARDED_BY(mutex_) = 0;
  bool ended_ GUARDED_BY(mutex_) = false;
  absl::Status failure_ GUARDED_BY(mutex_);  // the most telling so far
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_REPLICAS_REPLICATED_CALL_H_
