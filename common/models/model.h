// The three things a model can do, and the model that does them.
//
// A family (OSCAR, UNITER, ...) is a folder that builds a Model from a bundle, and one line of
// families.bzl.  A joint model serves all three from one set of weights; a pure cross-encoder
// leaves the encoders out.
//
//   ASSIGN_OR_RETURN(std::shared_ptr<const Model> model, LoadModel(bundle, options));
//   ASSIGN_OR_RETURN(Tokens tokens, model->Tokenize("a red fish"));
//   ASSIGN_OR_RETURN(EmbeddingMatrix e, model->text_encoder()->Encode({tokens}, call));
#ifndef SIGHTLINE_COMMON_MODELS_MODEL_H_
#define SIGHTLINE_COMMON_MODELS_MODEL_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/base/call_context.h"
#include "common/base/compute_pool.h"
#include "common/bundle/item_features.h"
#include "common/bundle/model_bundle.h"
#include "common/embedding/embedding_matrix.h"
#include "common/embedding/score.h"
#include "common/image/image_input.h"
#include "common/models/execution.h"

namespace sightline {

// A text, ready for the network: ids with the special tokens in place.
struct Tokens {
  std::vector<int32_t> ids;
  std::vector<Tokens> members;  // of an ensemble, whose members each read it in their way: no ids
};

// All of these are immutable and safe for concurrent use.  A result depends on its own
// input only, up to the last bits of a float; in deterministic mode, exactly.
class TextEncoder {
 public:
  virtual ~TextEncoder() = default;

  // One row per text, of the model's dimension, normalised if its metric is cosine.
  virtual absl::StatusOr<EmbeddingMatrix> Encode(absl::Span<const Tokens> texts,
                                                 const CallContext& call) const = 0;
};

class ImageEncoder {
 public:
  virtual ~ImageEncoder() = default;

  // One row per image.  InvalidArgument for an image without regions, or whose region
  // features have another size than the model's.  Pixels go through the model's
  // RegionExtractor first; that is the caller's step, so that the regions serve the
  // cross-encoder too.
  virtual absl::StatusOr<EmbeddingMatrix> Encode(absl::Span<const ImageInput> images,
                                                 const CallContext& call) const = 0;
};

// One (text, image) pair.  Both point to features that outlive the call, made by the
// PrepareText or PrepareImages of a cross-encoder with the same id.
struct ScoringPair {
  const ItemFeatures* text = nullptr;
  const ItemFeatures* image = nullptr;
};

class CrossEncoder {
 public:
  virtual ~CrossEncoder() = default;

  // Everything that does not depend on the partner.  A text's features are its token
  // ids (int32, tensor "ids"); an image's are its projected region rows, in float32.
  // They are stored and sent as StoredAs (inputs/stored_features.h) rounds them, and
  // Score reads them in any of those forms.
  virtual ItemFeatures PrepareText(const Tokens& text) const = 0;
  virtual absl::StatusOr<std::vector<ItemFeatures>> PrepareImages(
      absl::Span<const ImageInput> images, const CallContext& call) const = 0;

  // Raw scores, one per pair, in order; see score_kind().  Pairs of different queries
  // may share a call.  InvalidArgument names the first pair whose features do not fit.
  virtual absl::StatusOr<std::vector<float>> Score(absl::Span<const ScoringPair> pairs,
                                                   const CallContext& call) const = 0;

  // Tokens plus regions that Score would read for this pair: the unit of batching.
  virtual int64_t Cost(const ScoringPair& pair) const = 0;

  virtual ScoreKind score_kind() const = 0;
};

struct ModelOptions {
  // Where batches are split; must outlive the model.
  ComputePool* pool = nullptr;
  // One item or pair per forward pass, one thread: bit-identical results whatever the
  // batch.  Slower; for parity checks and audits.
  bool deterministic = false;
  // Stands before the names of a cross-encoder's feature tensors.  So the members of an
  // ensemble write into one ItemFeatures, and each finds its own there.
  std::string feature_prefix;
  Execution execution;
};

class Model {
 public:
  virtual ~Model() = default;

  // A text as every part of the model reads it.  Cheap, so that a text's cost (ids.size()) is
  // known before it is batched.  InvalidArgument: empty after normalisation, not UTF-8, or longer
  // than the limit in bytes.  A text with more tokens than the model reads is cut, not refused.
  virtual absl::StatusOr<Tokens> Tokenize(absl::string_view text) const = 0;

  // Null where the family has no such part.
  virtual const TextEncoder* text_encoder() const = 0;
  virtual const ImageEncoder* image_encoder() const = 0;
  virtual const CrossEncoder* cross_encoder() const = 0;
  // Null when the model takes precomputed regions only.
  virtual const RegionExtractor* region_extractor() const = 0;
  // How many numbers a region's feature may have, the usual width first; more than one where
  // the box may be part of the feature.  Empty: precomputed regions are not taken.
  virtual std::vector<int> region_feature_sizes() const = 0;

  // The bundle's SHA-256, in hex.
  virtual const std::string& id() const = 0;
  // Fingerprint of the embedding space, in hex; equal spaces can be compared.
  virtual const std::string& space() const = 0;
  virtual int dimension() const = 0;
};

// What the cross-encoder of `model` needs of a text that nobody has tokenized.  Errors as Tokenize.
inline absl::StatusOr<ItemFeatures> TextFeatures(const Model& model, absl::string_view text) {
  const absl::StatusOr<Tokens> tokens = model.Tokenize(text);
  if (!tokens.ok()) return tokens.status();
  return model.cross_encoder()->PrepareText(*tokens);
}

// Builds the model of a verified bundle.  InvalidArgument names the unknown family, or
// all missing, unexpected and mis-shaped tensors in one message, or an execution that there is
// not.
absl::StatusOr<std::shared_ptr<const Model>> LoadModel(const ModelBundle& bundle,
                                                       const ModelOptions& options);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_MODELS_MODEL_H_
