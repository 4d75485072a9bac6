// The one way from texts and pictures to embeddings and item features: of queries and of corpora.
//
//   std::vector<const RegionExtractor*> extractors = PictureExtractors(encoder, rerankers);
//   ... each picture is decoded, and reduced for each of them ...
//   std::vector<absl::StatusOr<EmbeddedItem>> encoded =
//       EncodePictures(encoder, std::move(pictures), call);
//
// One result per item, in order.  An item that a model refuses (InvalidArgument) is refused alone;
// what else goes wrong is everybody's who was beside it.
#ifndef SIGHTLINE_COMMON_MODELS_ITEM_ENCODER_H_
#define SIGHTLINE_COMMON_MODELS_ITEM_ENCODER_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/base/call_context.h"
#include "common/base/dtype.h"
#include "common/bundle/feature_dtype.h"
#include "common/bundle/item_features.h"
#include "common/image/image_input.h"
#include "common/models/model.h"

namespace sightline {

// `encoder` encodes texts, and has tokenized these.
std::vector<absl::StatusOr<std::vector<float>>> EncodeTexts(const Model& encoder,
                                                            absl::Span<const Tokens> texts,
                                                            const CallContext& call);

// What the cross-encoder of `reranker` needs of a text that `encoder` has tokenized already;
// another model tokenizes it in its own way.  Errors as Model::Tokenize.
absl::StatusOr<ItemFeatures> TextFeaturesFor(const Model& reranker, const Model& encoder,
                                             const Tokens& tokens, absl::string_view text);

// Who finds regions in a picture: the encoder, then each of `rerankers`.  Null in the place of a
// reranker that is given what the encoder has found: the encoder itself, or a model that finds
// none.
std::vector<const RegionExtractor*> PictureExtractors(const Model& encoder,
                                                      absl::Span<const Model* const> rerankers);

struct PictureToEncode {
  // With regions, if they are known.
  ImageInput image;
  // Else the picture as each of PictureExtractors sees it, reduced; null where that is null.  Some
  // may be one and the same.
  std::vector<std::shared_ptr<const Pixels>> pixels;
  // Whose item features are wanted; may be none.
  std::vector<const Model*> rerankers;
  // What those are rounded to: what the generation says that they are for.
  Dtype feature_dtype = kDefaultFeatureDtype;
};

struct EmbeddedItem {
  std::vector<float> embedding;
  std::vector<ItemFeatures> features;  // of each reranker
};

// `encoder` encodes images.
std::vector<absl::StatusOr<EmbeddedItem>> EncodePictures(const Model& encoder,
                                                         std::vector<PictureToEncode> pictures,
                                                         const CallContext& call);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_MODELS_ITEM_ENCODER_H_
