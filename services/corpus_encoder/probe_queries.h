// The questions that servers will measure their recall with.
#ifndef SIGHTLINE_SERVICES_CORPUS_ENCODER_PROBE_QUERIES_H_
#define SIGHTLINE_SERVICES_CORPUS_ENCODER_PROBE_QUERIES_H_

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/base/call_context.h"
#include "common/embedding/embedding_matrix.h"
#include "services/corpus_encoder/generation_items.h"
#include "services/corpus_encoder/generation_shard.h"

namespace sightline {

inline constexpr int kProbeQueryCount = 64;

// Embeddings of `count` of the items, or of all if there are fewer, evenly spread over the
// order of their ids.  Captions are what is asked of images, and images of captions.
// Errors as GenerationShard.
absl::StatusOr<EmbeddingMatrix> ProbeQueries(absl::Span<const GenerationItem> items,
                                             const ItemSources& sources, int count,
                                             const CallContext& call);

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_CORPUS_ENCODER_PROBE_QUERIES_H_
