// A generation that a new one is made from: what has not changed is carried over.
#ifndef SIGHTLINE_SERVICES_CORPUS_ENCODER_BASE_GENERATION_H_
#define SIGHTLINE_SERVICES_CORPUS_ENCODER_BASE_GENERATION_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "common/base/call_context.h"
#include "common/bundle/feature_store.h"
#include "common/bundle/item_features.h"
#include "common/bundle/rerankers.h"
#include "common/bundle/shard_vectors.h"
#include "services/corpus_encoder/work_await.h"
#include "sightline/bundle/v1/generation.pb.h"

namespace sightline {

// What a base must have been made with, for one index.
struct BaseRequirements {
  bundle::v1::ItemKind item_kind = bundle::v1::ITEM_KIND_UNSPECIFIED;
  bundle::v1::EmbeddingSpec embedding;
  std::string encoder_model;
  std::vector<NamedReranker> rerankers;  // what they are called may differ
};

// One index of a base, read as it is needed.  Immutable, thread-safe.
class BaseIndex {
 public:
  // Where an item lies.
  struct Place {
    int32_t shard = 0;
    int64_t row = 0;
  };

  // NotFound if the generation is not there; FailedPrecondition, saying which, if it was
  // made with other models; DataLoss if it is damaged.
  static absl::StatusOr<std::unique_ptr<BaseIndex>> Open(const std::string& store,
                                                         const std::string& index,
                                                         const std::string& generation,
                                                         const BaseRequirements& required);

  // The item, if it is there and was made from what `content_hash` is the hash of.  What
  // cannot be read is an error, not an item that is not there: workers who do not find the
  // same divide the corpus in different ways.
  absl::StatusOr<absl::optional<Place>> Find(absl::string_view item_id,
                                             absl::string_view content_hash) const;

  // Whether there is such a place: for one that was kept on disk since it was found.
  bool Holds(const Place& place) const;

  // Of an item that was found.  Errors as reading a container; DataLoss for lying offsets.
  absl::StatusOr<std::vector<float>> Embedding(const Place& place) const;
  absl::StatusOr<ItemFeatures> Features(const Place& place, int reranker) const;

  // Compares all checksums: once, before anything is carried over for good.  Every file that
  // was read is noted in `tally`.
  absl::Status Verify(const std::string& store, WorkTally& tally, const CallContext& call) const;

  const std::string& generation() const { return manifest_.generation(); }

 private:
  BaseIndex() = default;

  bundle::v1::GenerationManifest manifest_;
  std::vector<std::unique_ptr<ShardVectors>> vectors_;
  std::vector<std::unique_ptr<FeatureStore>> features_;  // empty without rerankers
  std::vector<NamedReranker> rerankers_;                 // in the order required
};

// Both indexes of a base; null where nothing is carried over.
struct BaseGeneration {
  std::unique_ptr<BaseIndex> images;
  std::unique_ptr<BaseIndex> captions;

  std::string name() const { return images == nullptr ? "" : images->generation(); }
};

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_CORPUS_ENCODER_BASE_GENERATION_H_
