#include "loadtest/run/ask_exactly.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/base/status_within.h"

namespace sightline {
namespace {

absl::StatusOr<ExactAnswer> AskOne(PlannedRequest question, SearchClient* client,
                                   const CallContext& call) {
  const CallContext asked = call.WithDeadline(call.clock()->Now() + question.deadline);
  ASSIGN_OR_RETURN(SearchResult result, client->SearchItems(asked, std::move(question.request)));
  if (!result.effort.exact || result.answered_shard_count < result.shard_count) {
    return absl::FailedPreconditionError(
        absl::StrCat("the answer is ", result.effort.exact ? "" : "not ", "exact and of ",
                     result.answered_shard_count, " of ", result.shard_count,
                     " shards; recall is measured against what is exact and whole: see that all "
                     "shards serve and "
                     "have time, or leave measure_recall out"));
  }
  ExactAnswer answer;
  answer.generation = std::move(result.target.generation);
  for (Hit& hit : result.hits) answer.nearest.push_back(std::move(hit.item_id));
  return answer;
}

}  // namespace

absl::StatusOr<ExactAnswers> AskExactly(const PlannedTraffic& traffic, SearchClient* client,
                                        const CallContext& call) {
  ExactAnswers answers;
  for (PlannedRequest& question : traffic.ExactQuestions()) {
    const int kind = question.kind;
    const int64_t number = question.question;
    ASSIGN_OR_RETURN(ExactAnswer answer, Within(absl::StrCat("asking question ", number, " of '",
                                                             traffic.kinds()[kind], "' exactly"),
                                                AskOne(std::move(question), client, call)));
    if (!answer.nearest.empty()) answers.Add(kind, number, std::move(answer));
  }
  return answers;
}

}  // namespace sightline
