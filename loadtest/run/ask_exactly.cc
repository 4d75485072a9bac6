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
  if (!result.effort.exact || !result.degraded.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("the answer is ", result.effort.exact ? "degraded" : "not exact",
                     ", so that recall cannot be measured against it; see that the whole fleet "
                     "serves and has time, or leave measure_recall out"));
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
