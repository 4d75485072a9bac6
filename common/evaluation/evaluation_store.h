// What is evaluated: the two indexes of one corpus and their models.
#ifndef SIGHTLINE_COMMON_EVALUATION_EVALUATION_STORE_H_
#define SIGHTLINE_COMMON_EVALUATION_EVALUATION_STORE_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "common/base/call_context.h"
#include "common/base/compute_pool.h"
#include "common/embedding/score.h"
#include "common/evaluation/query.h"
#include "common/evaluation/relevance.h"
#include "common/evaluation/stored_index.h"
#include "common/models/model.h"

namespace sightline {

// What models compute in, if they have blocks: those that rerank pictures and captions may differ.
struct StorePrecisions {
  std::string encoder = "float32";
  std::string image_reranker = "float32";
  std::string caption_reranker = "float32";

  std::string& reranker(Direction direction) {
    return direction == Direction::kTextToImage ? image_reranker : caption_reranker;
  }
  static StorePrecisions All(const std::string& precision) {
    return {precision, precision, precision};
  }
  bool operator==(const StorePrecisions& other) const {
    return encoder == other.encoder && image_reranker == other.image_reranker &&
           caption_reranker == other.caption_reranker;
  }
};

struct EvaluationStoreOptions {
  std::string store;
  std::string images_index = "images";
  std::string captions_index = "captions";
  std::string language = "en";  // of the captions that make queries and answers
  RelevanceRule rule = RelevanceRule::kSameWords;
  std::string reranker;  // name of the cross-encoder; empty: each index's default
  StorePrecisions precisions;
  bool deterministic = false;  // one item or pair a pass, as a fleet with that set
};

// Immutable, thread-safe.
class EvaluationStore {
 public:
  // Opens both current generations and their models.  `pool` outlives the store.
  // FailedPrecondition if the two do not belong together (kind of items, embedding space,
  // a caption whose picture is not there) or hold no caption in the language;
  // InvalidArgument if one has no reranker of that name; otherwise the errors of opening.
  static absl::StatusOr<std::unique_ptr<EvaluationStore>> Open(
      const EvaluationStoreOptions& options, ComputePool* pool, const CallContext& call);

  const StoredIndex& images() const { return *images_; }
  const StoredIndex& captions() const { return *captions_; }
  // The index that a direction searches.
  const StoredIndex& target(Direction direction) const {
    return direction == Direction::kTextToImage ? *images_ : *captions_;
  }
  const Relevance& relevance() const { return *relevance_; }

  // Encodes queries.
  const Model& encoder() const { return *encoder_; }
  // What reranks in that direction.
  struct Reranker {
    std::string name;
    std::shared_ptr<const Model> model;  // null if the searched index is retrieval only
    // By the model's bundle, for that direction; none likewise.
    absl::optional<DeclaredCombination> declared;
  };
  const Reranker& reranker(Direction direction) const {
    return direction == Direction::kTextToImage ? image_reranker_ : caption_reranker_;
  }

 private:
  EvaluationStore() = default;
  absl::Status CheckPair() const;
  absl::Status LoadModels(const EvaluationStoreOptions& options, ComputePool* pool);
  absl::Status ReadCaptions(const EvaluationStoreOptions& options);

  std::unique_ptr<StoredIndex> images_, captions_;
  std::shared_ptr<const Model> encoder_;
  Reranker image_reranker_, caption_reranker_;
  absl::optional<Relevance> relevance_;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_EVALUATION_EVALUATION_STORE_H_
