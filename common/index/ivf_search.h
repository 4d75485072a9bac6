// How one query is answered from an inverted file.
#ifndef SIGHTLINE_COMMON_INDEX_IVF_SEARCH_H_
#define SIGHTLINE_COMMON_INDEX_IVF_SEARCH_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/call_context.h"
#include "common/base/compute_pool.h"
#include "common/embedding/row_set.h"
#include "common/index/code_space.h"
#include "common/index/ivf_file.h"
#include "common/index/list_ranking.h"
#include "common/index/vector_index.h"

namespace sightline {

// What an opened index has; a value that names what outlives it.
struct IvfParts {
  const IvfFile* file;
  const CodeSpace* space;
  const ListRanking* ranking;
  VectorView vectors;
};

// What all queries of a call have alike.
struct IvfRequest {
  int top_k = 0;
  int64_t effort = 0;  // lists; fewer than there are, 1 at least
  // Rows that may be found, null if all may, their bits, and their number.
  const RowSet* among = nullptr;
  const uint64_t* among_words = nullptr;
  int64_t among_count = 0;
};

// The best of the rows that the lists nearest to `query` hold.  Without a filter these are `effort`
// lists, and further ones where these hold fewer than `top_k` rows.  With one a search goes on from
// there until the lists that are left promise as much less than its kth row as those do that a
// search of all rows leaves out, wherever the filter's rows lie; where that takes half as long as
// to score all of these, scoring is what it does instead.  `pool` may be null: then one thread
// works, else lists without a filter, and scores of all that a filter lets through, have as many as
// there is work for; all find the same.
absl::StatusOr<std::vector<Neighbor>> SearchLists(const IvfParts& index, const float* query,
                                                  const IvfRequest& request, ComputePool* pool,
                                                  const CallContext& call);

// The best of all rows, or of those of `among` unless it is null, by the score of each.  `pool` as
// above.
absl::StatusOr<std::vector<Neighbor>> ScoreAll(const VectorView& vectors, const float* query,
                                               const RowSet* among, int top_k, ComputePool* pool,
                                               const CallContext& call);

// Of a filter that lets `count` rows through: how many of them a search will look at, about.  A
// share of p of the rows, strewn at random, has its ten best among the ten / p best of all, which
// lie in more lists; where they are all of a few lists, as many as 1 / p times fewer lists have to
// be searched.  effort / sqrt(p) lists' worth of rows, of which p are let through, lies between.
int64_t MatchesWanted(const IvfShape& shape, int64_t effort, int64_t count);

// Lists that a search with such a filter looks into first, of those that promise the most: as many
// as hold the best of its rows if they are strewn at random, and some more.  At least `effort`, and
// a few.
int64_t FirstLists(const IvfShape& shape, int64_t effort, int64_t count);

// Whether to look for the best of `count` rows in lists takes half as long as to score them all, or
// they are so few that scoring takes next to nothing.
bool IsNarrow(const IvfShape& shape, const VectorView& vectors, int64_t effort, int64_t count);

// Whether a search scores all rows that may be found, as its effort reaches all lists, or it would
// find them all, or its filter is narrow.
bool ComparesAll(const IvfShape& shape, const VectorView& vectors, const SearchOptions& options);

// But for the bits of a filter's rows.
IvfRequest RequestOf(const IvfShape& shape, const SearchOptions& options);

// About how many times as long `request` takes as one of its effort for ten rows of all.
double WorkOfSearch(const IvfShape& shape, const VectorView& vectors, const IvfRequest& request);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_INDEX_IVF_SEARCH_H_
