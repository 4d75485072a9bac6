#include "common/clients/manifest_status.h"

#include <utility>

#include "common/embedding/score.h"

namespace sightline {
namespace {

Combination DeclaredCombination(const bundle::v1::CrossEncoderSpec& spec) {
  Combination combination;
  if (auto kind = ParseCombinationKind(spec.combination()); kind.ok()) combination.kind = *kind;
  combination.lambda = spec.combination_lambda();
  return combination;
}

}  // namespace

GenerationStatus ReadyGeneration(const bundle::v1::GenerationManifest& manifest, int64_t sequence,
                                 std::vector<int> held_shards, const LoadedModels& models) {
  GenerationStatus status;
  status.state = GenerationState::kReady;
  status.sequence = sequence;
  status.held_shards = std::move(held_shards);
  GenerationInfo& info = status.info;
  info.ref = {manifest.index(), manifest.generation(), manifest.embedding().space()};
  info.content =
      manifest.item_kind() == bundle::v1::CAPTION ? IndexContent::kCaptions : IndexContent::kImages;
  info.dimension = manifest.embedding().dimension();
  info.shard_count = manifest.shards_size();
  info.item_count = manifest.item_count();
  info.encoder_model = manifest.encoder_model();
  info.reranker_model = manifest.reranker_model();
  if (const auto found = models.find(info.reranker_model); found != models.end()) {
    info.combination = DeclaredCombination(found->second.cross_encoder());
  }
  return status;
}

std::vector<ModelStatus> DescribeModels(const LoadedModels& models) {
  std::vector<ModelStatus> described;
  for (const auto& [id, manifest] : models) {
    described.push_back(
        {id, manifest.family(), manifest.embedding().space(), manifest.description()});
  }
  return described;
}

}  // namespace sightline
