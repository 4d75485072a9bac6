// Embeddings of pictures and of their captions, from a store.
#ifndef SIGHTLINE_LOADTEST_SYNTHESIZE_STORED_PAIRS_H_
#define SIGHTLINE_LOADTEST_SYNTHESIZE_STORED_PAIRS_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "common/base/call_context.h"
#include "common/base/compute_pool.h"
#include "loadtest/synthesize/embedding_measures.h"

namespace sightline {

// More are not read; those that are, are evenly spread.
inline constexpr int64_t kMostStoredPairs = 20'000;

struct StoredPairs {
  PairedEmbeddings embeddings;
  std::string space;  // that they are of
};

// The current generations of two indexes of `store`, `images` and `captions` of one embedding
// space: items are the pictures, queries the captions about them.  Of what is equal, which corpora
// have much of and no shape tells of, one is kept.  Errors as reading a store; InvalidArgument for
// indexes of two spaces.
absl::StatusOr<StoredPairs> ReadStoredPairs(const std::string& store, const std::string& images,
                                            const std::string& captions, ComputePool* pool,
                                            const CallContext& call);

}  // namespace sightline

#endif  // SIGHTLINE_LOADTEST_SYNTHESIZE_STORED_PAIRS_H_
