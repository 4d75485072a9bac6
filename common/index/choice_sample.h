// A sample of a shard's rows, as a generation of its own that kinds are tried on.
#ifndef SIGHTLINE_COMMON_INDEX_CHOICE_SAMPLE_H_
#define SIGHTLINE_COMMON_INDEX_CHOICE_SAMPLE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/base/call_context.h"
#include "common/base/compute_pool.h"
#include "common/embedding/embedding_matrix.h"
#include "sightline/bundle/v1/generation.pb.h"

namespace sightline {

// `count` of the numbers below `size`, or all if there are fewer, ascending; each as likely as any
// other, and the same for the same seed.
std::vector<int64_t> DrawRows(int64_t size, int64_t count, int64_t seed);

// Writes `count` rows of the greatest shard of `manifest`, which lies below `directory`, and the
// true neighbors of `queries` among them to `folder`, as a generation of one shard.  Returns its
// manifest, whose index_spec is empty.
absl::StatusOr<bundle::v1::GenerationManifest> WriteSample(
    absl::string_view directory, const bundle::v1::GenerationManifest& manifest, int64_t count,
    int64_t seed, const EmbeddingMatrix& queries, absl::string_view folder, ComputePool* pool,
    const CallContext& call);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_INDEX_CHOICE_SAMPLE_H_
