// One generation of one index in this process: searched, read and its features fetched as
// the servers do, without servers.
#ifndef SIGHTLINE_COMMON_EVALUATION_STORED_INDEX_H_
#define SIGHTLINE_COMMON_EVALUATION_STORED_INDEX_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "common/base/call_context.h"
#include "common/base/compute_pool.h"
#include "common/bundle/generation.h"
#include "common/bundle/item_features.h"
#include "common/embedding/candidate.h"
#include "common/embedding/embedding_matrix.h"
#include "common/index/effort_curve.h"
#include "common/index/vector_index.h"
#include "sightline/bundle/v1/generation.pb.h"

namespace sightline {

// Immutable, thread-safe.
class StoredIndex {
 public:
  // Opens what CURRENT names, all shards of it, after reading every byte once (verify.h).
  // `pool` outlives the index.  Errors as ReadDesiredGeneration, VerifyGeneration and the
  // opening of files report them.
  static absl::StatusOr<std::unique_ptr<StoredIndex>> Open(const std::string& store,
                                                           const std::string& index,
                                                           ComputePool* pool,
                                                           const CallContext& call);

  const bundle::v1::GenerationManifest& manifest() const { return manifest_; }
  // "images/g1", for messages.
  std::string Name() const;

  // For each row of `queries` the best `top_k` items of all shards, as searches find them that ask
  // for no recall of their own, by exact inner product, in the order of RanksBefore.
  absl::StatusOr<std::vector<std::vector<Candidate>>> Search(const EmbeddingMatrix& queries,
                                                             int top_k,
                                                             const CallContext& call) const;

  // Where an item is; its score is zero.  None if it is not in the index.
  absl::optional<Candidate> Find(absl::string_view item_id) const;

  // Of an item that Find or Search returned, as it is stored.  Errors as ShardVectors.
  absl::StatusOr<std::vector<float>> Embedding(const Candidate& item) const;
  // What `model` needs of each item, in order.
  absl::StatusOr<std::vector<ItemFeatures>> Features(absl::string_view model,
                                                     absl::Span<const Candidate> items) const;

  // Every record, shard by shard.
  absl::StatusOr<std::vector<ItemRecord>> Records() const;

 private:
  struct Shard {
    std::unique_ptr<ShardVectors> vectors;
    std::unique_ptr<FeatureStore> features;  // null if the generation has none
    std::unique_ptr<VectorIndex> index;      // reads what `vectors` has
    EffortCurve efforts;
  };

  StoredIndex() = default;
  absl::Status OpenShards(const std::string& store, ComputePool* pool, const CallContext& call);

  bundle::v1::GenerationManifest manifest_;
  std::vector<Shard> shards_;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_EVALUATION_STORED_INDEX_H_
