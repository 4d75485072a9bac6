// Calls of one kind that a request makes together, and their answers as they come in.
//
//   StageCalls<SearchShardResponse> calls(call, deadlines.search);
//   for (int shard = 0; shard < n; ++shard) {
//     clients[shard]->SearchShard(calls.context(), MakeRequest(shard), calls.Slot(shard));
//   }
//   while (auto answer = calls.Next()) { ... }   // none: the deadline has come
//
// Leaving the scope cancels what is still under way; an answer that comes later falls
// into memory of its own, so it is harmless.
#ifndef SIGHTLINE_COMMON_RETRIEVAL_STAGE_CALLS_H_
#define SIGHTLINE_COMMON_RETRIEVAL_STAGE_CALLS_H_

#include <algorithm>
#include <deque>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "common/api/clients.h"
#include "common/base/call_context.h"
#include "common/base/mutex.h"

namespace sightline {

// Slot, Next and the destructor belong to one thread; answers come from any.
template <typename T>
class StageCalls {
 public:
  struct Answer {
    int slot = 0;
    absl::StatusOr<T> value;
  };

  // Ends at `deadline`, or with `call` if that is earlier.
  StageCalls(const CallContext& call, absl::Time deadline)
      : inbox_(std::make_shared<Inbox>()),
        closing_(call.cancellation()->OnCancel([inbox = std::weak_ptr<Inbox>(inbox_)] {
          if (auto alive = inbox.lock()) alive->Close();
        })),
        context_(call.WithDeadline(deadline).Child()) {}

  // What TaskGroup is for tasks that a thread awaits one after the other, this is for calls whose
  // answers come in any order and until a deadline of the stage.  Cancels even when every answer is
  // there: clients may have left callbacks in the cancellation that own what the cancellation
  // belongs to.
  ~StageCalls() { context_.cancellation()->Cancel(); }

  StageCalls(const StageCalls&) = delete;
  StageCalls& operator=(const StageCalls&) = delete;

  // What the calls of this stage are to be given.
  const CallContext& context() const { return context_; }

  // Where the answer of one call goes.
  Done<T> Slot(int slot) {
    ++under_way_;
    return [inbox = inbox_, slot](absl::StatusOr<T> value) {
      inbox->Put(Answer{slot, std::move(value)});
    };
  }

  // Calls whose answers Next has not returned.
  int under_way() const { return under_way_; }

  // The next answer.  None when no call is under way, when the caller has cancelled,
  // or at `until` (at the stage's deadline if that is earlier).  What has arrived
  // before is returned even after that.
  absl::optional<Answer> Next(absl::Time until = absl::InfiniteFuture()) {
    if (under_way_ == 0) return absl::nullopt;
    absl::optional<Answer> answer =
        inbox_->Take(context_.clock(), std::min(until, context_.deadline()));
    if (answer.has_value()) --under_way_;
    return answer;
  }

 private:
  class Inbox {
   public:
    void Put(Answer answer) {
      {
        MutexLock lock(mutex_);
        answers_.push_back(std::move(answer));
      }
      // Without the lock, which whoever wakes up would wait for; it is one thread.
      changed_.NotifyOne();
    }

    void Close() {
      MutexLock lock(mutex_);
      closed_ = true;
      changed_.NotifyAll();
    }

    absl::optional<Answer> Take(Clock* clock, absl::Time until) {
      MutexLock lock(mutex_);
      while (answers_.empty()) {
        if (closed_ || clock->Now() >= until) return absl::nullopt;
        clock->WaitUntil(changed_, mutex_, until);
      }
      absl::optional<Answer> first(std::move(answers_.front()));
      answers_.pop_front();
      return first;
    }

   private:
    Mutex mutex_;
    CondVar changed_;
    std::deque<Answer> answers_ GUARDED_BY(mutex_);
    bool closed_ GUARDED_BY(mutex_) = false;
  };

  const std::shared_ptr<Inbox> inbox_;
  const Cancellation::Registration closing_;  // of the inbox, when the caller has gone
  const CallContext context_;
  int under_way_ = 0;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_RETRIEVAL_STAGE_CALLS_H_
