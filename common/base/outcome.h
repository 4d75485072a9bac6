// One result, made on one thread and awaited on another.
//
//   auto outcome = std::make_shared<Outcome<Row>>();
//   ... a worker:  outcome->Set(row);
//   ... a handler: ASSIGN_OR_RETURN(Row row, outcome->Await(call, "encode"));
#ifndef SIGHTLINE_COMMON_BASE_OUTCOME_H_
#define SIGHTLINE_COMMON_BASE_OUTCOME_H_

#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "common/base/call_context.h"
#include "common/base/mutex.h"

namespace sightline {

// Thread-safe.  Share it through a shared_ptr: a handler that stops waiting leaves the
// worker something to write to.
template <typename T>
class Outcome : public std::enable_shared_from_this<Outcome<T>> {
 public:
  // The first call counts; later ones are ignored.
  void Set(absl::StatusOr<T> value) {
    {
      MutexLock lock(mutex_);
      if (value_.has_value()) return;
      value_ = std::move(value);
    }
    ready_.NotifyAll();
  }

  // Waits for Set, as long as the call lives: DeadlineExceeded or Cancelled, naming
  // `what`, when it ends first.  Once only: the value is moved out.
  absl::StatusOr<T> Await(const CallContext& call, absl::string_view what) {
    const auto waking = call.cancellation()->OnCancel([weak = this->weak_from_this()] {
      if (const auto self = weak.lock()) self->Wake();
    });
    MutexLock lock(mutex_);
    while (!value_.has_value()) {
      if (call.expired() || call.cancelled()) return call.Check(what);
      call.clock()->WaitUntil(ready_, mutex_, call.deadline());
    }
    return std::move(*value_);
  }

 private:
  void Wake() EXCLUDES(mutex_) {
    // With the lock, so that a waiter is either before its look at the call or asleep.
    MutexLock lock(mutex_);
    ready_.NotifyAll();
  }

  Mutex mutex_;
  CondVar ready_;
  absl::optional<absl::StatusOr<T>> value_ GUARDED_BY(mutex_);
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_BASE_OUTCOME_H_
