// The questions that servers will measure their recall with.
#ifndef SIGHTLINE_COMMON_INDEX_PROBE_QUERIES_H_
#define SIGHTLINE_COMMON_INDEX_PROBE_QUERIES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/embedding/embedding_matrix.h"
#include "sightline/bundle/v1/generation.pb.h"

namespace sightline {

// Embeddings of `count` of the items of `shards`, whose files lie below `directory`, or of all
// if there are fewer: evenly spread over the shards and the order of ids in each.  Captions
// are what is asked of images, and images of captions.
absl::StatusOr<EmbeddingMatrix> ProbeQueries(absl::string_view directory,
                                             const std::vector<bundle::v1::ShardManifest>& shards,
                                             int dimension, int count);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_INDEX_PROBE_QUERIES_H_
