// The tasks of one request: batched each on its own, awaited together.
//
//   TaskGroup<float> scores(call, "rerank");
//   for (const ScoringPair& pair : pairs) {
//     RETURN_IF_ERROR(scheduler.SubmitAwaited({pair, scores.call(), scores.Add()}, model, cost));
//   }
//   ASSIGN_OR_RETURN(std::vector<float> all, scores.AwaitAll());
#ifndef SIGHTLINE_COMMON_BATCHING_TASK_GROUP_H_
#define SIGHTLINE_COMMON_BATCHING_TASK_GROUP_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/base/call_context.h"
#include "common/base/outcome.h"

namespace sightline {

// For one thread; the outcomes are for any.
template <typename Result>
class TaskGroup {
 public:
  // `what` stands in the message of a call that ends first.
  TaskGroup(const CallContext& call, absl::string_view what) : call_(call.Child()), what_(what) {}

  // Cancels what is not done yet: when one task has failed, or could not be handed over, the
  // others are not worth computing.
  ~TaskGroup() { call_.cancellation()->Cancel(); }

  TaskGroup(const TaskGroup&) = delete;
  TaskGroup& operator=(const TaskGroup&) = delete;

  // A child of the request's, for its tasks.
  const CallContext& call() const { return call_; }

  // One more task's.
  std::shared_ptr<Outcome<Result>> Add() {
    outcomes_.push_back(std::make_shared<Outcome<Result>>());
    return outcomes_.back();
  }

  // The results in the order of Add, or the first failure in that order.  Once only.
  absl::StatusOr<std::vector<Result>> AwaitAll() {
    std::vector<Result> results;
    results.reserve(outcomes_.size());
    for (const auto& outcome : outcomes_) {
      absl::StatusOr<Result> result = outcome->Await(call_, what_);
      if (!result.ok()) return result.status();
      results.push_back(*std::move(result));
    }
    return results;
  }

 private:
  const CallContext call_;
  const std::string what_;
  std::vector<std::shared_ptr<Outcome<Result>>> outcomes_;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_BATCHING_TASK_GROUP_H_
