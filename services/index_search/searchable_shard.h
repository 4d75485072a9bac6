// One shard of a generation, ready to be searched, and how hard it is searched.
#ifndef SIGHTLINE_SERVICES_INDEX_SEARCH_SEARCHABLE_SHARD_H_
#define SIGHTLINE_SERVICES_INDEX_SEARCH_SEARCHABLE_SHARD_H_

#include <cstdint>
#include <map>
#include <memory>

#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "common/api/effort.h"
#include "common/bundle/shard_vectors.h"
#include "common/bundle/tag_postings.h"
#include "common/embedding/row_set.h"
#include "common/index/effort_curve.h"
#include "common/index/vector_index.h"
#include "services/index_search/search_pace.h"

namespace sightline {

// `index` reads what `vectors` has, and so do `tags`.
struct SearchableShard {
  // Of the generation: gone when the last of its shards has gone.
  std::shared_ptr<const void> memory;
  std::unique_ptr<ShardVectors> vectors;
  absl::optional<int> device;  // that the index is on, by number; none: the CPU
  int64_t device_bytes = 0;    // that it takes there
  std::shared_ptr<const void> device_memory;
  std::unique_ptr<VectorIndex> index;
  TagPostings tags;
  EffortCurve efforts;
  double default_recall = kDefaultRecall;  // of a search that asks for none
  std::unique_ptr<SearchPace> pace = std::make_unique<SearchPace>();
};

// What the search server keeps of a generation: the shards that it holds, by number.  A
// request keeps the shard that it searches, so that a slow one delays the end of no other.
struct SearchGeneration {
  std::map<int, std::shared_ptr<const SearchableShard>> shards;
};

// How a request is searched.
struct ShardSearchPlan {
  int effort = kDefaultEffort;
  // Whether unfiltered searches find the same whatever else is asked, so that the best k of a
  // longer list are the list for k.
  bool shares_lists = false;
  double promised_seconds =
      0;  // of the whole request; 0 where nothing was measured, or it is exact
  SearchEffort told;
};

// For the best `top_k` of `query_count` queries each, among the rows of `among` unless it is null.
// An effort is lowered as far as the least that was measured so that the search is expected to end
// within `budget`, by the shard's efforts and its pace.
ShardSearchPlan PlanSearch(const SearchableShard& shard, int64_t query_count, int top_k,
                           const EffortWish& wish, absl::Duration budget, const RowSet* among);

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_INDEX_SEARCH_SEARCHABLE_SHARD_H_
