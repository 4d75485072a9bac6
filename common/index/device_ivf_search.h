// How queries are answered from an inverted file whose rows lie on a device.
//
// The host ranks the lists, and the device scores all rows of those that it is to look into: the
// lists that a search on a CPU takes at the same effort, whose codes may leave some of the best
// rows out.  So as much is found at least, and of codes there is no need.
//
// With a filter a search looks into the most promising lists first, as many as it would need were
// the filter's rows strewn at random.  What it finds there says which others may have better ones,
// by the rule of SearchLists: those that promise no more below its kth row than the last list that
// a search of all rows looks into promises below that one's.  A CPU goes on list by list, and its
// kth row becomes better meanwhile; here all that are left by the rule are searched at once, which
// may be some more than there.  Where they hold more than half as many rows as the filter lets
// through, or the first ones had fewer than k, the filter's rows are scored instead, all of them.
#ifndef SIGHTLINE_COMMON_INDEX_DEVICE_IVF_SEARCH_H_
#define SIGHTLINE_COMMON_INDEX_DEVICE_IVF_SEARCH_H_

#include "absl/status/statusor.h"
#include "common/base/call_context.h"
#include "common/embedding/embedding_matrix.h"
#include "common/index/code_space.h"
#include "common/index/device_search.h"
#include "common/index/ivf_file.h"
#include "common/index/list_ranking.h"
#include "common/index/vector_index.h"

namespace sightline {

// What an opened index has; a value that names what outlives it.  `rows` are in the order of the
// file's lists.
struct DeviceIvfParts {
  const IvfFile* file;
  const CodeSpace* space;
  const ListRanking* ranking;
  const DeviceSearch* rows;
};

// Whether a search scores all rows that may be found: where one on a CPU does, and where a filter
// lets no more rows through than are in the lists that it would look into.
bool ComparesAllOnDevice(const DeviceIvfParts& index, const SearchOptions& options);

// As VectorIndex::Search, of options that do not compare all; the arguments are checked.  Errors as
// DeviceSearch::SearchRanges.
absl::StatusOr<NeighborLists> SearchListsOnDevice(const DeviceIvfParts& index,
                                                  const EmbeddingMatrix& queries,
                                                  const SearchOptions& options,
                                                  const CallContext& call);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_INDEX_DEVICE_IVF_SEARCH_H_
