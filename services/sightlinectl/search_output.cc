#include "services/sightlinectl/search_output.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/clients/convert_search.h"
#include "common/config/table.h"
#include "services/sightlinectl/json.h"

namespace sightline {
namespace {

std::string Milliseconds(absl::Duration duration) {
  return absl::StrFormat("%.1f ms", absl::ToDoubleMilliseconds(duration));
}

std::string CombinationText(const Combination& combination) {
  std::string text(CombinationKindName(combination.kind));
  if (combination.kind != CombinationKind::kReplace)
    absl::StrAppend(&text, ":", combination.lambda);
  return text;
}

std::string RerankText(const SearchResult& result) {
  switch (result.rerank) {
    case RerankOutcome::kNotRequested:
      return "not reranked (depth 0)";
    case RerankOutcome::kNotApplicable:
      return "not reranked (nothing to rerank with)";
    case RerankOutcome::kComplete:
    case RerankOutcome::kPartial:
      return absl::StrCat("reranked ", result.achieved_depth, " of ", result.requested_depth, " (",
                          CombinationText(result.combination), ")");
    case RerankOutcome::kFailed:
      return absl::StrCat("reranked none of ", result.requested_depth);
  }
  return "";
}

std::string ReasonText(DegradedReason reason, const SearchResult& result) {
  switch (reason) {
    case DegradedReason::kShardsMissing: {
      std::vector<std::string> names;
      for (const std::string& name : result.unreachable) names.push_back(Printable(name, 0));
      return absl::StrCat("shards missing: ", absl::StrJoin(names, ", "));
    }
    case DegradedReason::kDepthReduced:
      return "depth reduced for lack of time";
    case DegradedReason::kRerankerFailed:
      return "the reranker failed";
    case DegradedReason::kRerankerLate:
      return "the reranker was late";
    case DegradedReason::kRecordsMissing:
      return "captions and paths of some hits could not be fetched";
  }
  return "";
}

}  // namespace

std::string FormatHits(const SearchResult& result) {
  Table table(
      {{"rank", true}, {"score", true}, {"stage"}, {"id"}, {"caption", false, 60}, {"path"}});
  int rank = 0;
  for (const Hit& hit : result.hits) {
    table.AddRow({absl::StrCat(++rank), absl::StrFormat("%.4f", hit.score),
                  hit.stage == HitStage::kReranked ? "reranked" : "retrieved", hit.item_id,
                  hit.caption, hit.uri});
  }
  return table.empty() ? "no hits\n" : table.ToString();
}

std::string FormatSummary(const SearchResult& result) {
  const StageTimes& times = result.times;
  std::string text = absl::StrCat(
      result.target.index, "/", result.target.generation, ", shards ", result.answered_shard_count,
      " of ", result.shard_count, ", ", RerankText(result), ", ", Milliseconds(times.total),
      " (encode ", Milliseconds(times.encode), ", search ", Milliseconds(times.search), ", rerank ",
      Milliseconds(times.rerank), ", fetch ", Milliseconds(times.fetch), ")\n");
  if (result.degraded.empty()) return text;
  std::vector<std::string> reasons;
  for (DegradedReason reason : result.degraded) reasons.push_back(ReasonText(reason, result));
  absl::StrAppend(&text, "degraded: ", absl::StrJoin(reasons, "; "), "\n");
  return text;
}

std::string SearchResultJson(SearchResult result) {
  v1::SearchItemsResponse message;
  ToProto(std::move(result), /*with_items=*/true, &message);
  return MessageJson(message);
}

std::string FormatScore(const ScorePairsResult& result) {
  if (result.scores.empty()) return "";
  const PairScore& pair = result.scores[0];
  return absl::StrFormat("%.6f\n(%s %.6f, retrieval score %.6f)\n", pair.rerank_score,
                         std::string(ScoreKindName(result.score_kind)), pair.raw_score,
                         pair.retrieval_score);
}

}  // namespace sightline
