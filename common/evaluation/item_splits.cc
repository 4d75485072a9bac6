#include "common/evaluation/item_splits.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/evaluation/json_lines.h"

namespace sightline {
namespace {

constexpr size_t kMaxSplitNameBytes = 64;

}  // namespace

absl::StatusOr<ItemSplits> ParseItemSplits(absl::string_view text) {
  ItemSplits splits;
  RETURN_IF_ERROR(ForEachJsonLine(text, [&splits](const nlohmann::json& object) -> absl::Status {
    ASSIGN_OR_RETURN(std::string item_id, StringAt(object, "item_id", limits::kMaxItemIdBytes));
    ASSIGN_OR_RETURN(const std::string name, StringAt(object, "split", kMaxSplitNameBytes));
    ASSIGN_OR_RETURN(const Split split, ParseSplit(name));
    const auto [place, added] = splits.emplace(std::move(item_id), split);
    if (added) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("item '", place->first, "' stands in the file twice"));
  }));
  return splits;
}

absl::StatusOr<ItemSplits> SaidSplits(const CorpusListing& listing) {
  ItemSplits splits;
  for (const CorpusItem& item : listing.items) {
    if (item.split.has_value()) splits.emplace(item.item_id, *item.split);
  }
  if (!splits.empty()) return splits;
  return absl::InvalidArgumentError(
      "nothing in the corpus says which split an item is in; give the items.jsonl that `trainer "
      "prepare` makes of it");
}

absl::StatusOr<std::vector<EvaluationQuery>> QueriesOf(Split split, const ItemSplits& splits,
                                                       absl::Span<const EvaluationQuery> queries) {
  std::vector<EvaluationQuery> chosen;
  int64_t missing = 0;
  const EvaluationQuery* first_missing = nullptr;
  for (const EvaluationQuery& query : queries) {
    const auto found = splits.find(query.item_id);
    if (found == splits.end()) {
      ++missing;
      if (first_missing == nullptr) first_missing = &query;
    } else if (found->second == split) {
      chosen.push_back(query);
    }
  }
  if (missing > 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("the splits lack ", missing, " of the ", queries.size(),
                     " captioned items of the index, the first of them '", first_missing->item_id,
                     "'; make the file from the corpora that the index was made from"));
  }
  return chosen;
}

std::vector<EvaluationQuery> Sample(std::vector<EvaluationQuery> queries, int64_t limit) {
  const auto count = static_cast<int64_t>(queries.size());
  if (limit == 0 || limit >= count) return queries;
  std::vector<EvaluationQuery> sample;
  for (int64_t i = 0; i < limit; ++i) sample.push_back(std::move(queries[i * count / limit]));
  return sample;
}

}  // namespace sightline
