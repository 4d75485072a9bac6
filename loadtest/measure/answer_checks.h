// Whether an answer can be right, as far as a caller can see.
//
//   observation.failures = CheckAnswer(request, *result, ended, sent + deadline);
//   observation.known_item_found = AnyAmong(known_items, result->hits);
#ifndef SIGHTLINE_LOADTEST_MEASURE_ANSWER_CHECKS_H_
#define SIGHTLINE_LOADTEST_MEASURE_ANSWER_CHECKS_H_

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "absl/types/span.h"
#include "common/api/search.h"
#include "loadtest/measure/observation.h"

namespace sightline {

// An answer that is in this process by its deadline may wait for a core before its callback
// runs.  gRPC itself turns later ones into errors, so what exceeds even this tells of a
// generator without a core.
inline constexpr absl::Duration kDeliveryGrace = absl::Milliseconds(50);

// Everything that is wrong with an answer that is OK; each failure once, in the order of
// the enum.  Takes time in proportion to the hits.
//
// kOrder            another order than StandsBefore's: a retrieved hit before a reranked one;
//                   within a stage a score that rises, or equal scores whose ids do not
//                   ascend.  Also a score that is no number
// kDuplicate        an item id twice
// kTooMany          more than top_k
// kMixedGeneration  index, generation or space is not named, the index is not the one that
//                   was asked for, or two items stand in the same row, as they can only in
//                   two generations.  Rows are looked at if records were asked for, for hits
//                   carry none otherwise.
// kCoverage         no shard answered, more than there are did, those that did not are not as
//                   many as are named, SHARDS_MISSING does not say so or says so wrongly, or
//                   a reason is given twice
// kLate             `ended` is more than kDeliveryGrace after `deadline`
// kQueriedItem      an item of the searched index found itself
// kFilter           a hit has not the tags that were asked for, or there are more hits than items
//                   that pass.  Tags are looked at if records were asked for and none is missing
//
// `ended` and `deadline` are since the same moment; InfiniteDuration: no deadline.
std::vector<CheckFailure> CheckAnswer(const SearchRequest& request, const SearchResult& result,
                                      absl::Duration ended, absl::Duration deadline);

// Whether one item at least of `known` is among the hits.  `known` is meant to be short.
bool AnyAmong(absl::Span<const std::string> known, absl::Span<const Hit> hits);

// Whether the first hit is among `known`, and whether the first one by retrieval alone is, of those
// that there are.
bool FirstAmong(absl::Span<const std::string> known, absl::Span<const Hit> hits);
bool FirstRetrievedAmong(absl::Span<const std::string> known, absl::Span<const Hit> hits);

}  // namespace sightline

#endif  // SIGHTLINE_LOADTEST_MEASURE_ANSWER_CHECKS_H_
