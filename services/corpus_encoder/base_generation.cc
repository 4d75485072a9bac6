#include "services/corpus_encoder/base_generation.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/error_details.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"
#include "common/bundle/generation.h"
#include "common/bundle/manifest.h"
#include "common/bundle/verify.h"

namespace sightline {
namespace {

std::vector<std::string> ModelsOf(const std::vector<NamedReranker>& rerankers) {
  std::vector<std::string> models;
  for (const NamedReranker& reranker : rerankers) models.push_back(reranker.model);
  return models;
}

absl::Status CheckMadeAlike(const bundle::v1::GenerationManifest& base,
                            const BaseRequirements& required) {
  const auto differs = [&](absl::string_view what, absl::string_view is,
                           absl::string_view should_be) {
    return absl::FailedPreconditionError(absl::StrCat(
        "generation ", base.generation(), " of index ", base.index(), " has ", what, " ",
        is.empty() ? "none" : is, ", not ", should_be.empty() ? "none" : should_be,
        ": nothing of it can be carried over"));
  };
  if (base.item_kind() != required.item_kind) {
    return differs("items of kind", bundle::v1::ItemKind_Name(base.item_kind()),
                   bundle::v1::ItemKind_Name(required.item_kind));
  }
  if (base.encoder_model() != required.encoder_model) {
    return differs("the encoder", base.encoder_model(), required.encoder_model);
  }
  if (ModelsOf(RerankersOf(base)) != ModelsOf(required.rerankers)) {
    return differs("the rerankers", RerankersText(RerankersOf(base)),
                   RerankersText(required.rerankers));
  }
  if (ManifestJson(base.embedding()) != ManifestJson(required.embedding)) {
    return differs("the embedding space", base.embedding().space(), required.embedding.space());
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<BaseIndex>> BaseIndex::Open(const std::string& store,
                                                           const std::string& index,
                                                           const std::string& generation,
                                                           const BaseRequirements& required) {
  std::unique_ptr<BaseIndex> base(new BaseIndex);
  ASSIGN_OR_RETURN(base->manifest_, ReadGenerationManifest(store, index, generation));
  RETURN_IF_ERROR(CheckMadeAlike(base->manifest_, required));
  base->rerankers_ = required.rerankers;
  const std::string directory = GenerationDirectory(store, index, generation);
  for (const bundle::v1::ShardManifest& shard : base->manifest_.shards()) {
    ASSIGN_OR_RETURN(std::unique_ptr<ShardVectors> vectors,
                     ShardVectors::Open(JoinPath(directory, shard.vectors().path()), shard,
                                        required.embedding.dimension()));
    base->vectors_.push_back(std::move(vectors));
    if (required.rerankers.empty()) continue;
    ASSIGN_OR_RETURN(std::unique_ptr<FeatureStore> features,
                     FeatureStore::Open(JoinPath(directory, shard.features().path()), shard));
    base->features_.push_back(std::move(features));
  }
  return base;
}

absl::StatusOr<absl::optional<BaseIndex::Place>> BaseIndex::Find(
    absl::string_view item_id, absl::string_view content_hash) const {
  Place place;
  place.shard = ShardOf(item_id, static_cast<int>(vectors_.size()));
  const ShardVectors& vectors = *vectors_[place.shard];
  place.row = vectors.Find(item_id);
  if (place.row < 0) return absl::nullopt;
  const absl::StatusOr<std::string> hash = vectors.ReadContentHash(place.row);
  if (!hash.ok()) {
    return WithPrefix(hash.status(),
                      absl::StrCat("what has changed since generation ", generation(),
                                   " cannot be told; run the same command again"));
  }
  if (*hash != content_hash) return absl::nullopt;
  return place;
}

bool BaseIndex::Holds(const Place& place) const {
  return place.shard >= 0 && place.shard < static_cast<int32_t>(vectors_.size()) &&
         place.row >= 0 && place.row < vectors_[place.shard]->size();
}

absl::StatusOr<std::vector<float>> BaseIndex::Embedding(const Place& place) const {
  const ShardVectors& vectors = *vectors_[place.shard];
  std::vector<float> embedding(static_cast<size_t>(vectors.dimension()));
  RETURN_IF_ERROR(vectors.ReadEmbedding(place.row, absl::MakeSpan(embedding)));
  return embedding;
}

absl::StatusOr<ItemFeatures> BaseIndex::Features(const Place& place, int reranker) const {
  ASSIGN_OR_RETURN(std::vector<ItemFeatures> features,
                   features_[place.shard]->Get(rerankers_[reranker].model, {place.row}));
  return std::move(features[0]);
}

absl::Status BaseIndex::Verify(const std::string& store, WorkTally& tally,
                               const CallContext& call) const {
  RETURN_IF_ERROR(CheckLengths(store, manifest_, VerifyOptions()));
  for (int shard = 0; shard < manifest_.shards_size(); ++shard) {
    for (const bool vectors : {true, false}) {
      VerifyOptions options;
      options.shards = {shard};
      options.vectors = vectors;
      options.features = !vectors;
      RETURN_IF_ERROR(VerifyGeneration(store, manifest_, options, call));
      tally.Note();
    }
  }
  return absl::OkStatus();
}

}  // namespace sightline
