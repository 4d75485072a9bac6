// What a piece of work must know of the call it is done for: until when, and whether
// anybody still wants it.
//
//   CallContext call(clock, clock->Now() + absl::Milliseconds(300));
//   RETURN_IF_ERROR(call.Check("rerank"));
//   CallContext stage = call.WithDeadline(...);   // never later than the parent's
//   CallContext part = call.Child();              // may be cancelled without the rest
#ifndef SIGHTLINE_COMMON_BASE_CALL_CONTEXT_H_
#define SIGHTLINE_COMMON_BASE_CALL_CONTEXT_H_

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/base/clock.h"

namespace sightline {

// Set once, seen by every copy of the context.  Thread-safe.
class Cancellation {
 private:
  struct State;

 public:
  // The place of one callback.  When it goes, so does the callback, so that a call which
  // lives long does not gather what its parts have left behind.  Movable; may outlive the
  // cancellation.
  class Registration {
   public:
    Registration() = default;
    ~Registration() { Reset(); }
    Registration(Registration&& other) noexcept { *this = std::move(other); }
    Registration& operator=(Registration&& other) noexcept;

    // Takes the callback out.  One that is running in another thread is not waited for.
    void Reset();

   private:
    friend class Cancellation;
    Registration(std::weak_ptr<State> state, int64_t id) : state_(std::move(state)), id_(id) {}

    std::weak_ptr<State> state_;
    int64_t id_ = 0;
  };

  Cancellation();
  Cancellation(const Cancellation&) = delete;
  Cancellation& operator=(const Cancellation&) = delete;

  // Idempotent.  Runs the registered callbacks in the calling thread.
  void Cancel();
  bool cancelled() const;

  // Runs `callback` once when cancelled, at once if that has happened already; not any more
  // once the registration has gone.  Since a running one is not waited for, `callback` owns
  // what it touches, or knows it weakly.  A callback that holds its own registration stays.
  [[nodiscard]] Registration OnCancel(std::function<void()> callback);

  // A cancellation of its own that is cancelled with this one, too.
  std::shared_ptr<Cancellation> NewChild();

  // Callbacks that wait.
  int callbacks() const;

 private:
  const std::shared_ptr<State> state_;
  Registration parent_;  // of a child
};

// A value: copy it freely.  Thread-safe.
class CallContext {
 public:
  CallContext(Clock* clock, absl::Time deadline,
              std::shared_ptr<Cancellation> cancellation = std::make_shared<Cancellation>())
      : clock_(clock), deadline_(deadline), cancellation_(std::move(cancellation)) {}

  // For jobs and tests: no deadline, real clock.
  static CallContext Unbounded() { return CallContext(Clock::Real(), absl::InfiniteFuture()); }

  Clock* clock() const { return clock_; }
  absl::Time deadline() const { return deadline_; }
  absl::Duration remaining() const { return deadline_ - clock_->Now(); }
  const std::shared_ptr<Cancellation>& cancellation() const { return cancellation_; }

  bool expired() const { return clock_->Now() >= deadline_; }
  bool cancelled() const { return cancellation_->cancelled(); }

  // CANCELLED or DEADLINE_EXCEEDED, naming `what`; OK while the call is alive.
  absl::Status Check(absl::string_view what) const {
    if (cancelled()) return absl::CancelledError(absl::StrCat(what, ": the caller went away"));
    if (expired()) return absl::DeadlineExceededError(absl::StrCat(what, ": no time left"));
    return absl::OkStatus();
  }

  // The same call with an earlier deadline; a later one is ignored.
  CallContext WithDeadline(absl::Time deadline) const {
    CallContext earlier = *this;
    earlier.deadline_ = std::min(deadline, deadline_);
    return earlier;
  }

  // A part of the call that can be cancelled by itself, and is with the call.
  CallContext Child() const {
    CallContext child = *this;
    child.cancellation_ = cancellation_->NewChild();
    return child;
  }

  // Names the caller's request in log lines of all processes that work on it; empty if
  // nobody named it.
  const std::string& request_id() const {
    static const std::string* const none = new std::string;
    return request_id_ == nullptr ? *none : *request_id_;
  }
  CallContext WithRequestId(std::string request_id) const {
    CallContext named = *this;
    named.request_id_ = std::make_shared<const std::string>(std::move(request_id));
    return named;
  }

 private:
  Clock* clock_;
  absl::Time deadline_;
  std::shared_ptr<Cancellation> cancellation_;
  std::shared_ptr<const std::string> request_id_;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_BASE_CALL_CONTEXT_H_
