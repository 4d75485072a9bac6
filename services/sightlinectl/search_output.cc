#include "services/sightlinectl/search_output.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/base/clean_text.h"
#include "common/bundle/rerankers.h"
#include "common/clients/convert_search.h"
#include "common/config/table.h"
#include "services/sightlinectl/json.h"

namespace sightline {
namespace {

std::string Milliseconds(absl::Duration duration) {
  return absl::StrFormat("%.1f ms", absl::ToDoubleMilliseconds(duration));
}

// What a generation gives no name is nothing to tell apart.
std::string ByName(const SearchResult& result) {
  if (result.reranker.empty() || result.reranker == kDefaultReranker) return "";
  return absl::StrCat(" by ", Printable(result.reranker, 0));
}

// What was computed otherwise than in float32; of an old server nothing is known.
std::string PrecisionText(const SearchResult& result) {
  std::vector<std::string> parts;
  const auto add = [&](const char* what, const std::string& precision) {
    if (precision.empty() || precision == "float32") return;
    parts.push_back(absl::StrCat(what, " in ", Printable(precision, 0)));
  };
  add("encoded", result.encoder_precision);
  add("scored", result.reranker_precision);
  return parts.empty() ? "" : absl::StrCat(absl::StrJoin(parts, ", "), ", ");
}

// How many items there were to choose from, and how hard was looked; of an old server nothing is
// known.
std::string EffortText(const SearchResult& result) {
  const SearchEffort& effort = result.effort;
  if (result.matched_item_count == 0 && effort.exact && !result.hits.empty()) return "";
  const std::string items = absl::StrCat(result.matched_item_count, " items ");
  if (effort.exact) return absl::StrCat(items, "exactly, ");
  const std::string recall =
      effort.recall > 0 ? absl::StrFormat("recall %.3f", effort.recall) : "recall not measured";
  return absl::StrCat(items, "with effort ", effort.effort, " (", recall, "), ");
}

std::string RerankText(const SearchResult& result) {
  switch (result.rerank) {
    case RerankOutcome::kNotRequested:
      return "not reranked (depth 0)";
    case RerankOutcome::kNotApplicable:
      return "not reranked (nothing to rerank with)";
    case RerankOutcome::kNotByDefault:
      return absl::StrCat("not reranked", ByName(result),
                          " (by default none this way; --depth asks for it)");
    case RerankOutcome::kComplete:
    case RerankOutcome::kPartial:
      return absl::StrCat("reranked ", result.achieved_depth, " of ", result.requested_depth, " (",
                          CombinationText(result.combination), ")", ByName(result));
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
    case DegradedReason::kRecallReduced:
      return "searched with less effort than asked for lack of time";
  }
  return "";
}

int CharacterCount(absl::string_view text) {
  return static_cast<int>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

// The last `max_width` characters of `text`, the first of them an ellipsis, or all of it.
std::string KeepEnd(const std::string& text, int max_width) {
  const int excess = CharacterCount(text) - max_width;
  if (excess <= 0) return text;
  size_t begin = 0;
  for (int i = 0; i <= excess; ++i) {
    begin += Utf8CharacterLength(absl::string_view(text).substr(begin));
  }
  return absl::StrCat("\xE2\x80\xA6", text.substr(begin));
}

// "emoji/1f41f: fish" in at most kCellWidth characters.  Of a long id the end is kept,
// where ids of one folder differ; a caption that would be a stump is left out.
std::string HitCell(const Hit& hit) {
  constexpr int kCellWidth = 45;
  constexpr int kStump = 10;
  const std::string id = KeepEnd(Printable(hit.item_id, 0), kCellWidth);
  const int room = kCellWidth - CharacterCount(id) - 2;
  if (hit.caption.empty() || room < kStump) return id;
  return absl::StrCat(id, ": ", Printable(hit.caption, room));
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

std::string FormatComparison(const SearchResult& retrieved, const SearchResult& reranked) {
  Table table({{"rank", true}, {"retrieval only"}, {RerankText(reranked)}});
  for (size_t i = 0; i < std::max(retrieved.hits.size(), reranked.hits.size()); ++i) {
    const auto cell = [i](const SearchResult& result) {
      return i < result.hits.size() ? HitCell(result.hits[i]) : std::string();
    };
    table.AddRow({absl::StrCat(i + 1), cell(retrieved), cell(reranked)});
  }
  return table.empty() ? "no hits\n" : table.ToString();
}

std::string FormatSummary(const SearchResult& result) {
  const StageTimes& times = result.times;
  const std::string stages =
      result.from_cache
          ? "kept"
          : absl::StrCat("encode ", Milliseconds(times.encode), ", search ",
                         Milliseconds(times.search), ", rerank ", Milliseconds(times.rerank),
                         ", fetch ", Milliseconds(times.fetch));
  std::string text = absl::StrCat(
      result.target.index, "/", result.target.generation, ", shards ", result.answered_shard_count,
      " of ", result.shard_count, ", ", EffortText(result), RerankText(result), ", ",
      PrecisionText(result), Milliseconds(times.total), " (", stages, ")\n");
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
