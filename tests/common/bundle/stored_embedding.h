// What a shard has of an item, for tests.
#ifndef SIGHTLINE_TESTS_COMMON_BUNDLE_STORED_EMBEDDING_H_
#define SIGHTLINE_TESTS_COMMON_BUNDLE_STORED_EMBEDDING_H_

#include <cstdint>
#include <stdexcept>
#include <vector>

#include "absl/types/span.h"
#include "common/bundle/shard_vectors.h"

namespace sightline {

// Throws what reading fails with.
inline std::vector<float> StoredEmbedding(const ShardVectors& vectors, int64_t row) {
  std::vector<float> embedding(static_cast<size_t>(vectors.dimension()));
  const absl::Status status = vectors.CopyEmbedding(row, absl::MakeSpan(embedding));
  if (!status.ok()) throw std::runtime_error(status.ToString());
  return embedding;
}

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_COMMON_BUNDLE_STORED_EMBEDDING_H_
