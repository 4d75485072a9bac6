// The calls of index_search, as plain values.
#ifndef SIGHTLINE_COMMON_API_INDEX_SEARCH_H_
#define SIGHTLINE_COMMON_API_INDEX_SEARCH_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "common/api/effort.h"
#include "common/api/generation.h"
#include "common/api/item.h"
#include "common/bundle/tag_filter.h"
#include "common/embedding/candidate.h"
#include "common/embedding/embedding_matrix.h"

namespace sightline {

struct SearchShardRequest {
  GenerationRef target;
  int shard = 0;
  EmbeddingMatrix queries;
  int top_k = 10;
  TagFilter filter;
  EffortWish effort;
  // How long the search may take: where it would take longer, the effort is lowered.
  absl::Duration budget = absl::InfiniteDuration();
  // Whether what is stored of the candidates is wanted; of limits::kMaxFetchedItems at most.
  bool want_items = false;
  // When whoever asks would go on without the answer, if that is before the deadline.  For
  // a client of several replicas; servers are not told.
  absl::Time wanted_by = absl::InfiniteFuture();
};
struct SearchShardResponse {
  std::vector<std::vector<Candidate>> candidates;  // one list per query
  // If wanted and all could be read in time: one per candidate, without embeddings.  Else empty.
  std::vector<std::vector<StoredItem>> items;
  int64_t matched_count = 0;  // items of the shard that the filter lets through
  SearchEffort effort;
};

struct FetchItemsRequest {
  GenerationRef target;
  int shard = 0;
  std::vector<std::string> item_ids;  // by id ...
  std::vector<int64_t> rows;          // ... or by row; one of the two is empty
  bool want_embeddings = false;
};
struct FetchItemsResponse {
  // One per id or row asked for, in order; none for an id that the shard lacks.
  std::vector<absl::optional<StoredItem>> items;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_API_INDEX_SEARCH_H_
