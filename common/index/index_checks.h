// What every kind of index checks alike, so that all refuse the same in the same words.
#ifndef SIGHTLINE_COMMON_INDEX_INDEX_CHECKS_H_
#define SIGHTLINE_COMMON_INDEX_INDEX_CHECKS_H_

#include "absl/status/status.h"
#include "common/base/call_context.h"
#include "common/embedding/embedding_matrix.h"
#include "common/index/vector_index.h"

namespace sightline {

// That `vectors` is a matrix in memory; what lies there is not looked at.  InvalidArgument.
absl::Status CheckView(const VectorView& vectors);

// What VectorIndex::Search refuses, of an index of this dimension.
absl::Status CheckSearch(const EmbeddingMatrix& queries, const SearchOptions& options,
                         int dimension, const CallContext& call);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_INDEX_INDEX_CHECKS_H_
