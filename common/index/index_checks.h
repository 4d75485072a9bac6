// What every kind of index checks alike, so that all refuse the same in the same words.
#ifndef SIGHTLINE_COMMON_INDEX_INDEX_CHECKS_H_
#define SIGHTLINE_COMMON_INDEX_INDEX_CHECKS_H_

#include "absl/status/status.h"
#include "common/base/call_context.h"
#include "common/embedding/embedding_matrix.h"
#include "common/index/vector_index.h"
#include "sightline/bundle/v1/generation.pb.h"

namespace sightline {

// That `vectors` is a matrix, in memory or behind a reader; what lies there is not looked at.
// InvalidArgument.
absl::Status CheckView(const VectorView& vectors);

// What VectorIndex::Search refuses, of an index over `vectors`.
absl::Status CheckSearch(const EmbeddingMatrix& queries, const SearchOptions& options,
                         const VectorView& vectors, const CallContext& call);

// That `spec` has no parameters: InvalidArgument, of a kind that takes none.
absl::Status CheckNoParameters(const bundle::v1::IndexSpec& spec);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_INDEX_INDEX_CHECKS_H_
