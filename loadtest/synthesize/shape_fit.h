// The shape that makes synthetic embeddings like measured ones.
#ifndef SIGHTLINE_LOADTEST_SYNTHESIZE_SHAPE_FIT_H_
#define SIGHTLINE_LOADTEST_SYNTHESIZE_SHAPE_FIT_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/call_context.h"
#include "common/base/compute_pool.h"
#include "loadtest/synthesize/embedding_measures.h"
#include "loadtest/synthesize/vector_shape.h"

namespace sightline {

// The law that is nearest to `values`, of rank 1, 2, ..., by least squares of logarithms, each
// doubling of the rank counting alike.  Values that are not positive, and the last sixteenth, which
// ends at the last dimension and not by the law, count for nothing.
RankLaw FitRankLaw(const std::vector<double>& values);

// Laws and means follow from the measures.  How items flock is tried: shares are chosen for which
// as many synthetic items have neighbors most like the measured ones.  The same measures give the
// same shape.
absl::StatusOr<VectorShape> FitShape(const EmbeddingMeasures& measures, ComputePool* pool,
                                     const CallContext& call);

// As many items as were measured, of this shape, and as many queries, but one about an item.
PairedEmbeddings DrawLike(const EmbeddingMeasures& measures, const VectorShape& shape,
                          ComputePool* pool);

}  // namespace sightline

#endif  // SIGHTLINE_LOADTEST_SYNTHESIZE_SHAPE_FIT_H_
