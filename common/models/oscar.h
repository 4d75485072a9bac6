// The family "oscar": bi-encoder and cross-encoder of one weight set (see oscar_net.h
// for the network).
//
// An image's item features are its projected region rows (tensor "regions", rows x H),
// a text's its token ids.  Embeddings are the masked mean over all real rows, scaled to
// length one if the bundle's metric is cosine.  Scores are the softmax probability of
// "match" (score kind softmax_match) or its logit alone (logit_match, as MMT-Retrieval
// ranks); the two rankings differ.
#ifndef SIGHTLINE_COMMON_MODELS_OSCAR_H_
#define SIGHTLINE_COMMON_MODELS_OSCAR_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/bundle/model_bundle.h"
#include "common/models/family.h"
#include "common/models/model.h"

namespace sightline {

// What the match head says of one pair, before anything is made of it.
struct MatchLogits {
  float no_match = 0;
  float match = 0;
};

// Immutable, thread-safe.
class OscarModel : public Model {
 public:
  // Like LoadModel.
  static absl::StatusOr<std::unique_ptr<OscarModel>> Load(const ModelBundle& bundle,
                                                          const ModelOptions& options);
  ~OscarModel() override;

  // Both logits of each pair, in order; Score of the cross-encoder is made of these.
  // FailedPrecondition if the bundle has no cross-encoder.
  absl::StatusOr<std::vector<MatchLogits>> Logits(absl::Span<const ScoringPair> pairs,
                                                  const CallContext& call) const;

  const TextEncoder* text_encoder() const override;
  const ImageEncoder* image_encoder() const override;
  const CrossEncoder* cross_encoder() const override;
  const RegionExtractor* region_extractor() const override;
  std::vector<int> region_feature_sizes() const override;
  const std::string& id() const override;
  const std::string& space() const override;
  int dimension() const override;

  struct Parts;

 private:
  explicit OscarModel(std::unique_ptr<Parts> parts);
  const std::unique_ptr<Parts> parts_;
};

// The registry's line.
Family OscarFamily();

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_MODELS_OSCAR_H_
