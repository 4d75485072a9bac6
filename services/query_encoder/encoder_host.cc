#include "services/query_encoder/encoder_host.h"

#include <set>
#include <utility>

#include "common/base/compute_pool.h"
#include "common/base/status_macros.h"
#include "common/bundle/feature_dtype.h"
#include "common/bundle/rerankers.h"
#include "common/bundle/verify.h"
#include "common/models/inference.h"
#include "common/models/item_encoder.h"

namespace sightline {
namespace {

// A picture to warm up with: grey, of a common size.
Pixels GreyPicture() {
  Pixels picture;
  picture.width = 320;
  picture.height = 240;
  picture.rgb.assign(static_cast<size_t>(picture.width) * picture.height * 3, 128);
  return picture;
}

// The first forward pass of a model allocates and compiles; no caller should wait for that.  A
// reranker that finds regions of its own does so for every uploaded picture.
absl::Status WarmUp(const EncoderGeneration& held, const CallContext& call) {
  const Model& encoder = *held.encoder;
  if (encoder.text_encoder() != nullptr) {
    ASSIGN_OR_RETURN(const Tokens tokens, encoder.Tokenize("a picture to warm up with"));
    RETURN_IF_ERROR(EncodeTexts(encoder, absl::MakeConstSpan(&tokens, 1), call)[0].status());
  }
  if (encoder.image_encoder() == nullptr || encoder.region_extractor() == nullptr) {
    return absl::OkStatus();
  }
  PictureToEncode grey;
  for (const EncoderGeneration::Reranker& reranker : held.rerankers) {
    if (reranker.model->region_extractor() != nullptr) {
      grey.rerankers.push_back(reranker.model.get());
    }
  }
  for (const RegionExtractor* extractor : PictureExtractors(encoder, grey.rerankers)) {
    grey.pixels.push_back(extractor == nullptr
                              ? nullptr
                              : std::make_shared<const Pixels>(extractor->Reduce(GreyPicture())));
  }
  return EncodePictures(encoder, {std::move(grey)}, call)[0].status();
}

}  // namespace

EncoderHost::EncoderHost(std::string store, ModelCache* models)
    : store_(std::move(store)), models_(models) {}

std::vector<std::string> EncoderHost::Files(const Manifest& manifest) const {
  std::vector<std::string> files = models_->Files(manifest.encoder_model());
  for (const NamedReranker& reranker : RerankersOf(manifest)) {
    for (std::string& file : models_->Files(reranker.model)) files.push_back(std::move(file));
  }
  return files;
}

absl::StatusOr<int64_t> EncoderHost::Footprint(
    absl::Span<const Manifest* const> generations) const {
  std::set<std::string> models;
  for (const Manifest* manifest : generations) {
    models.insert(manifest->encoder_model());
    for (NamedReranker& reranker : RerankersOf(*manifest)) models.insert(std::move(reranker.model));
  }
  return models_->Footprint(models);
}

absl::StatusOr<std::vector<device::DeviceFootprint>> EncoderHost::DeviceFootprints(
    absl::Span<const Manifest* const> generations) {
  // Rerankers only prepare features here.
  std::set<std::string> encoders;
  for (const Manifest* manifest : generations) encoders.insert(manifest->encoder_model());
  return models_->DeviceFootprints(encoders);
}

absl::Status EncoderHost::Check(const Manifest& manifest) {
  return CheckEmbeddingSpace(store_, manifest);
}

absl::Status EncoderHost::Verify(const Manifest&, const CallContext&) {
  return absl::OkStatus();
}

absl::StatusOr<GenerationHost::Loaded> EncoderHost::Load(const Manifest& manifest,
                                                         bool /*verified*/,
                                                         const CallContext& call) {
  ComputePool::SingleThreadedLibraries();
  UseSingleThreadedTorch();
  auto held = std::make_shared<EncoderGeneration>();
  ASSIGN_OR_RETURN(held->encoder, models_->Get(manifest.encoder_model(), call));
  held->precision = models_->PrecisionOf(manifest.encoder_model());
  for (NamedReranker& reranker : RerankersOf(manifest)) {
    ASSIGN_OR_RETURN(auto model, models_->GetPreparing(reranker.model));
    held->rerankers.push_back({std::move(reranker.name), std::move(model)});
  }
  held->feature_dtype = FeatureDtypeOf(manifest);
  RETURN_IF_ERROR(WarmUp(*held, call));
  return Loaded{std::move(held), nullptr};
}

}  // namespace sightline
