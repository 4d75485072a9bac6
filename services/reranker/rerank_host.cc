#include "services/reranker/rerank_host.h"

#include <algorithm>
#include <set>
#include <utility>

#include "common/base/compute_pool.h"
#include "common/base/files.h"
#include "common/base/read_progress.h"
#include "common/base/status_macros.h"
#include "common/bundle/generation.h"
#include "common/bundle/rerankers.h"
#include "common/bundle/verify.h"
#include "common/models/inference.h"

namespace sightline {
namespace {

// Of where an item's features lie and their checksum: seven tensors and more than most
// cross-encoders have.
constexpr int64_t kIndexBytesOfItem = 64;
constexpr int64_t kMostItems = int64_t{1} << 50;  // so that lies do not wrap

// The first forward pass of a model allocates and compiles; no caller should wait for that.
// Only a text is at hand to warm up with, so captions wait for their first image.
absl::Status WarmUp(const RerankGeneration& generation, const Model& model,
                    const CallContext& call) {
  const CrossEncoder& encoder = *model.cross_encoder();
  ASSIGN_OR_RETURN(const ItemFeatures text, TextFeatures(model, "a picture to warm up with"));
  for (const auto& [shard, features] : generation.features) {
    if (features->size() == 0) continue;
    const int64_t row = 0;
    ASSIGN_OR_RETURN(const std::vector<ItemFeatures> image,
                     features->Get(model.id(), absl::MakeConstSpan(&row, 1)));
    const ScoringPair pair{&text, &image.front()};
    return encoder.Score(absl::MakeConstSpan(&pair, 1), call).status();
  }
  return absl::OkStatus();
}

}  // namespace

RerankHost::RerankHost(const RerankHostOptions& options, ModelCache* models, Janitor* janitor)
    : options_(options), models_(models), janitor_(janitor) {}

std::string RerankHost::FeaturesPath(const Manifest& manifest, int shard) const {
  return JoinPath(GenerationDirectory(options_.store, manifest.index(), manifest.generation()),
                  manifest.shards(shard).features().path());
}

std::vector<std::string> RerankHost::Files(const Manifest& manifest) const {
  const std::vector<NamedReranker> rerankers = RerankersOf(manifest);
  if (rerankers.empty()) return {};
  std::vector<std::string> files;
  for (const NamedReranker& reranker : rerankers) {
    for (std::string& file : models_->Files(reranker.model)) files.push_back(std::move(file));
  }
  for (int shard = 0; shard < manifest.shards_size(); ++shard) {
    files.push_back(FeaturesPath(manifest, shard));
  }
  return files;
}

absl::StatusOr<int64_t> RerankHost::Footprint(absl::Span<const Manifest* const> generations) const {
  std::set<std::string> models;
  int64_t items = 0;  // of features, over all cross-encoders
  for (const Manifest* manifest : generations) {
    for (NamedReranker& reranker : RerankersOf(*manifest)) {
      items = std::min(items + manifest->item_count(), kMostItems);
      models.insert(std::move(reranker.model));
    }
  }
  ASSIGN_OR_RETURN(const int64_t bytes, models_->Footprint(models));
  return bytes + items * kIndexBytesOfItem;
}

absl::StatusOr<std::vector<device::DeviceFootprint>> RerankHost::DeviceFootprints(
    absl::Span<const Manifest* const> generations) {
  std::set<std::string> models;
  for (const Manifest* manifest : generations) {
    for (NamedReranker& reranker : RerankersOf(*manifest)) models.insert(std::move(reranker.model));
  }
  return models_->DeviceFootprints(models);
}

VerifyOptions RerankHost::WhatIsServed() const {
  VerifyOptions served;
  served.vectors = false;
  served.state_dir = options_.state_dir;
  return served;
}

absl::Status RerankHost::Check(const Manifest& manifest) {
  if (RerankersOf(manifest).empty()) return absl::OkStatus();
  return CheckLengths(options_.store, manifest, WhatIsServed());
}

absl::Status RerankHost::Verify(const Manifest& manifest, const CallContext& call) {
  if (RerankersOf(manifest).empty() || !options_.verify) return absl::OkStatus();
  return VerifyGeneration(options_.store, manifest, WhatIsServed(), call);
}

void RerankHost::Distrust(const Manifest& manifest) {
  ForgetStamps(options_.state_dir, Files(manifest));
}

// Of features that were not read to be verified, opening them reads this much.
void RerankHost::ExpectIndexAlone(const Manifest& manifest) const {
  const auto rerankers = static_cast<int64_t>(RerankersOf(manifest).size());
  for (int shard = 0; shard < manifest.shards_size(); ++shard) {
    const int64_t items = std::min(manifest.shards(shard).item_count(), kMostItems);
    ReadProgress::ExpectOnThread(FeaturesPath(manifest, shard),
                                 items * rerankers * kIndexBytesOfItem);
  }
}

absl::StatusOr<GenerationHost::Loaded> RerankHost::Load(const Manifest& manifest, bool verified,
                                                        const CallContext& call) {
  ComputePool::SingleThreadedLibraries();
  UseSingleThreadedTorch();
  if (!verified) RETURN_IF_ERROR(Verify(manifest, call));
  ExpectIndexAlone(manifest);
  auto held = std::make_shared<RerankGeneration>();
  for (NamedReranker& reranker : RerankersOf(manifest)) {
    ASSIGN_OR_RETURN(auto model, models_->GetCrossEncoder(reranker.model, call));
    held->rerankers.push_back(
        {std::move(reranker.name), std::move(model), models_->PrecisionOf(reranker.model)});
  }
  for (int shard = 0; !held->rerankers.empty() && shard < manifest.shards_size(); ++shard) {
    ASSIGN_OR_RETURN(std::shared_ptr<const FeatureStore> features,
                     FeatureStore::Open(FeaturesPath(manifest, shard), manifest.shards(shard)));
    ReadProgress::ExpectOnThread(FeaturesPath(manifest, shard), 0);
    held->features[shard] = janitor_->Adopt(std::move(features));
  }
  if (manifest.item_kind() == bundle::v1::IMAGE) {
    for (const auto& reranker : held->rerankers) {
      RETURN_IF_ERROR(WarmUp(*held, *reranker.model, call));
    }
  }
  return Loaded{std::move(held), nullptr};
}

}  // namespace sightline
