// Which items a model was trained on, which choices were made on, and which it never saw.
#ifndef SIGHTLINE_COMMON_EVALUATION_ITEM_SPLITS_H_
#define SIGHTLINE_COMMON_EVALUATION_ITEM_SPLITS_H_

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/dataset/corpus.h"
#include "common/dataset/splits.h"
#include "common/evaluation/query.h"

namespace sightline {

using ItemSplits = std::unordered_map<std::string, Split>;  // by item id

// The file items.jsonl of `trainer prepare`: a JSON object a line, of which "item_id" and
// "split" are read.  InvalidArgument, naming the line, for anything malformed, an unknown
// split and an item that stands there twice.
absl::StatusOr<ItemSplits> ParseItemSplits(absl::string_view text);

// Those that the source of a corpus puts its items in: a published set's.  InvalidArgument if it
// says nothing of any item.
absl::StatusOr<ItemSplits> SaidSplits(const CorpusListing& listing);

// The queries of one split, in order.  InvalidArgument, with their number and the first
// of them, if `splits` lacks items of `queries`.
absl::StatusOr<std::vector<EvaluationQuery>> QueriesOf(Split split, const ItemSplits& splits,
                                                       absl::Span<const EvaluationQuery> queries);

// At most `limit` of them, evenly spread, so that a quick look sees every corner of the
// corpus; 0: all.
std::vector<EvaluationQuery> Sample(std::vector<EvaluationQuery> queries, int64_t limit);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_EVALUATION_ITEM_SPLITS_H_
