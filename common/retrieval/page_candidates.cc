#include "common/retrieval/page_candidates.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/retrieval/search_shards.h"

namespace sightline {
namespace {

// Takes the queried item out.  Whether it was there.
bool LeaveOut(const std::string& item_id, std::vector<Candidate>& list) {
  const auto rest = std::remove_if(list.begin(), list.end(), [&item_id](const Candidate& one) {
    return one.item_id == item_id;
  });
  const bool found = rest != list.end();
  list.erase(rest, list.end());
  return found;
}

// Takes out what does not rank behind `place`: what stands before it and itself, or, should it not
// be found this time, what has no lower score.
void KeepBehind(const PageToken::Place& place, std::vector<Candidate>& list) {
  auto at = std::find_if(list.begin(), list.end(), [&place](const Candidate& one) {
    return one.shard == place.shard && one.row == place.row;
  });
  if (at != list.end()) {
    ++at;
  } else {
    at = std::partition_point(list.begin(), list.end(),
                              [&place](const Candidate& one) { return one.score >= place.score; });
  }
  list.erase(list.begin(), at);
}

// What was asked and what was done instead, for the log.
absl::Status Reduced(const SearchRequest& request, const SearchEffort& done) {
  const auto& [recall, effort] = request.effort;
  const std::string asked = recall.has_value()   ? absl::StrCat("recall ", *recall)
                            : effort.has_value() ? absl::StrCat("effort ", *effort)
                                                 : "the recall of its generation";
  return absl::DeadlineExceededError(
      absl::StrCat("search: for lack of time an index was searched with effort ", done.effort,
                   " (recall ", done.recall, "), asked was ", asked));
}

void TellOf(const SearchRequest& request, const SearchPlan& plan, ShardAnswers& answers,
            SearchResult& result) {
  result.shard_count = plan.target.info->shard_count;
  result.answered_shard_count = answers.answered;
  result.matched_item_count = answers.matched;
  result.effort = answers.effort;
  if (!answers.unreachable.empty()) result.degraded.push_back(DegradedReason::kShardsMissing);
  if (answers.effort.reduced) {
    result.degraded.push_back(DegradedReason::kRecallReduced);
    result.failures.push_back(Reduced(request, answers.effort));
  }
  std::move(answers.failures.begin(), answers.failures.end(), std::back_inserter(result.failures));
  result.unreachable = std::move(answers.unreachable);
}

// Without a filter the generation says how many items there are, whoever is silent.
int64_t Findable(const SearchRequest& request, const SearchPlan& plan, int64_t matched,
                 bool left_one_out) {
  if (request.filter.empty()) {
    return plan.target.info->item_count - (ItemToLeaveOut(request.query, plan) != nullptr);
  }
  // Where the queried item was not found among one more than is wanted, and it passes the filter,
  // there are others behind what was found.
  return matched - left_one_out;
}

// Whether the number of hits before a page says as much as the last of these: the list that it is
// cut from is the front of every deeper one.  An answer that happens to be exact, as one among few
// rows is, does not tell that of those of other pages, which may be searched otherwise.
bool OffsetSuffices(const SearchRequest& request, const SearchPlan& plan,
                    const SearchEffort& effort) {
  return effort.exact && !plan.behind.has_value() && request.filter.empty() &&
         !request.effort.recall.has_value() && !request.effort.effort.has_value();
}

absl::optional<PageToken::Place> PlaceOf(const Candidate& candidate) {
  return PageToken::Place{candidate.shard, candidate.row, candidate.score};
}

}  // namespace

absl::StatusOr<PageCandidates> FindPageCandidates(const SearchRequest& request,
                                                  const SearchPlan& plan,
                                                  const EmbeddingMatrix& embedding,
                                                  bool lower_effort, absl::Time planned,
                                                  absl::Time latest, const CallContext& call,
                                                  SearchResult& result) {
  const std::string* const left_out = ItemToLeaveOut(request.query, plan);
  const int wanted = std::max(plan.end, plan.head);
  const size_t page_size = plan.end - plan.begin;
  ShardQuery query = {embedding,      wanted + (left_out != nullptr),
                      request.filter, request.effort,
                      lower_effort,   request.want_records && !plan.rerank};
  PageCandidates found;
  ShardAnswers answers;
  bool left_one_out = false;
  while (true) {
    ASSIGN_OR_RETURN(answers, SearchShards(plan.target, query, planned, latest, call));
    const bool exhausted = answers.best.size() < static_cast<size_t>(query.top_k);
    left_one_out = left_out != nullptr && LeaveOut(*left_out, answers.best);
    found.best = std::move(answers.best);
    if (!plan.behind.has_value()) break;
    KeepBehind(*plan.behind, found.best);
    found.first = plan.begin;
    if (found.best.size() >= page_size || exhausted || query.top_k == limits::kMaxNeighbors) break;
    if (call.clock()->Now() >= planned) break;
    query.top_k = std::min(2 * query.top_k, limits::kMaxNeighbors);
  }
  const size_t most = wanted - found.first;
  if (found.best.size() > most) found.best.resize(most);
  const size_t on_page = plan.end - found.first;
  if (!OffsetSuffices(request, plan, answers.effort) && plan.end >= plan.head &&
      found.best.size() >= on_page) {
    found.next_behind = PlaceOf(found.best[on_page - 1]);
  }
  found.findable = Findable(request, plan, answers.matched, left_one_out);
  found.items = std::move(answers.items);
  TellOf(request, plan, answers, result);
  return found;
}

}  // namespace sightline
