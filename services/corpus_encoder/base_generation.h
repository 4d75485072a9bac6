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
#include "common/base/call_context.h"
#include "common/base/dtype.h"
#include "common/bundle/encoding_precision.h"
#include "common/bundle/feature_dtype.h"
#include "common/bundle/feature_file.h"
#include "common/bundle/feature_reader.h"
#include "common/bundle/item_features.h"
#include "common/bundle/rerankers.h"
#include "common/bundle/vector_dtype.h"
#include "common/bundle/vectors_file.h"
#include "common/bundle/vectors_reader.h"
#include "services/corpus_encoder/work_await.h"
#include "sightline/bundle/v1/generation.pb.h"

namespace sightline {

// What a base must have been made with, for one index.
struct BaseRequirements {
  bundle::v1::ItemKind item_kind = bundle::v1::ITEM_KIND_UNSPECIFIED;
  bundle::v1::EmbeddingSpec embedding;
  std::string encoder_model;
  std::vector<NamedReranker> rerankers;  // what they are called may differ
  Dtype feature_dtype = kDefaultFeatureDtype;
  Dtype vector_dtype = kDefaultVectorDtype;
  std::string precision{kDefaultEncodingPrecision};
};

// One index of a base.  Nothing that grows with its items is in memory: BaseReader reads them.
// Immutable, thread-safe.
class BaseIndex {
 public:
  // Where an item lies.
  struct Place {
    int32_t shard = 0;
    int64_t row = 0;
  };

  // NotFound if the generation is not there; FailedPrecondition, saying which, if it was
  // made with other models or another precision, or has features or vectors of another dtype;
  // DataLoss if it is damaged.
  static absl::StatusOr<std::unique_ptr<BaseIndex>> Open(const std::string& store,
                                                         const std::string& index,
                                                         const std::string& generation,
                                                         const BaseRequirements& required);

  // Whether there is such a place: for one that was kept on disk since it was found.
  bool Holds(const Place& place) const;

  // Compares all checksums: once, before anything is carried over, so that a base that is damaged
  // is found before anything is encoded.  Every file that was read is noted in `tally`.
  absl::Status Verify(const std::string& store, WorkTally& tally, const CallContext& call) const;

  const std::string& generation() const { return manifest_.generation(); }

 private:
  friend class BaseReader;
  BaseIndex() = default;

  bundle::v1::GenerationManifest manifest_;
  std::vector<std::unique_ptr<VectorsFile>> vectors_;
  std::vector<std::unique_ptr<FeatureFile>> features_;  // empty without rerankers
  std::vector<NamedReranker> rerankers_;                // in the order required
};

// Both indexes of a base; null where nothing is carried over.
struct BaseGeneration {
  std::unique_ptr<BaseIndex> images;
  std::unique_ptr<BaseIndex> captions;

  std::string name() const { return images == nullptr ? "" : images->generation(); }
};

// Looks items of an index up and copies what is carried over.  All that is read is compared with
// its checksums, each time, whoever has verified the base before: DataLoss, naming the file, for
// what has been damaged since.
//
// Cheap where items are asked for in the order of their ids, as jobs do.  Holds up to 256 KiB of
// each section that was asked for of each shard, which is one for embeddings, three for look-ups
// and one more than there are tensors for features; and nothing an item.  For one thread, and one
// pass.
class BaseReader {
 public:
  // `base` outlives the reader.
  explicit BaseReader(const BaseIndex& base);

  // The item, if it is there and was made from what `content_hash` is the hash of.  What
  // cannot be read is an error, not an item that is not there: workers who do not find the
  // same divide the corpus in different ways.
  absl::StatusOr<absl::optional<BaseIndex::Place>> Find(absl::string_view item_id,
                                                        absl::string_view content_hash);

  // Of an item that was found.  Errors as reading a container; DataLoss for lying offsets.
  absl::StatusOr<std::vector<float>> Embedding(const BaseIndex::Place& place);
  absl::StatusOr<ItemFeatures> Features(const BaseIndex::Place& place, int reranker);

 private:
  absl::StatusOr<absl::optional<BaseIndex::Place>> LookUp(absl::string_view item_id,
                                                          absl::string_view content_hash);

  const BaseIndex* base_;
  std::vector<VectorsReader> vectors_;
  std::vector<FeatureReader> features_;
};

// Readers of both indexes of a base, which outlives them; null where nothing is carried over.
struct BaseReaders {
  explicit BaseReaders(const BaseGeneration& base);

  std::unique_ptr<BaseReader> images;
  std::unique_ptr<BaseReader> captions;
};

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_CORPUS_ENCODER_BASE_GENERATION_H_
