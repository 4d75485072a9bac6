// The last step of a search: what is stored of each hit.
#ifndef SIGHTLINE_COMMON_RETRIEVAL_HIT_RECORDS_H_
#define SIGHTLINE_COMMON_RETRIEVAL_HIT_RECORDS_H_

#include "absl/time/time.h"
#include "common/api/search.h"
#include "common/base/call_context.h"
#include "common/retrieval/pinned_index.h"
#include "common/retrieval/search_shards.h"

namespace sightline {

// Fills captions, uris and tags in: from `known`, and else as far as shards answer until
// `deadline`. Notes in `result` if some could not be had.
void FillRecords(const PinnedIndex& target, ItemsByPlace known, absl::Time deadline,
                 const CallContext& call, SearchResult& result);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_RETRIEVAL_HIT_RECORDS_H_
