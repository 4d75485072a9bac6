#include "common/clients/manifest_status.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/error_details.h"
#include "common/base/read_progress.h"
#include "common/bundle/declared_combinations.h"
#include "common/bundle/rerankers.h"

namespace sightline {
namespace {

GenerationState StateOf(HoldState state) {
  switch (state) {
    case HoldState::kLoading:
      return GenerationState::kLoading;
    case HoldState::kReady:
      return GenerationState::kReady;
    case HoldState::kRefused:
      break;
  }
  return GenerationState::kRefused;
}

LoadProgress ProgressOf(const Reading& reading, absl::Time now) {
  const ReadProgress::Bytes bytes = reading.progress->bytes();
  return {reading.stage, bytes.done, bytes.all, now - reading.since};
}

// "CHECKSUM_MISMATCH: ...", for programs and for people.
std::string DescribeRefusal(const absl::Status& refusal) {
  const auto reason = GetReason(refusal);
  return absl::StrCat(
      reason.has_value() ? reason->reason : absl::StatusCodeToString(refusal.code()), ": ",
      refusal.message());
}

}  // namespace

GenerationStatus DescribeGeneration(const HeldGeneration& entry, std::vector<int> held_shards,
                                    const LoadedModels& models, absl::Time now) {
  GenerationStatus status;
  status.state = StateOf(entry.state);
  if (entry.state == HoldState::kRefused) status.reason = DescribeRefusal(entry.refusal);
  status.needs_room = entry.needs_room;
  status.sequence = entry.sequence;
  if (entry.reading.has_value()) status.progress = ProgressOf(*entry.reading, now);
  status.held_shards = std::move(held_shards);
  GenerationInfo& info = status.info;
  info.ref = {entry.index, entry.generation, ""};
  if (entry.manifest == nullptr) return status;
  const bundle::v1::GenerationManifest& manifest = *entry.manifest;
  info.ref.space = manifest.embedding().space();
  const bool images = manifest.item_kind() != bundle::v1::CAPTION;
  info.content = images ? IndexContent::kImages : IndexContent::kCaptions;
  info.dimension = manifest.embedding().dimension();
  info.shard_count = manifest.shards_size();
  info.item_count = manifest.item_count();
  info.encoder_model = manifest.encoder_model();
  for (NamedReranker& reranker : RerankersOf(manifest)) {
    DeclaredCombination declared;
    const auto found = models.find(reranker.model);
    // A loaded model's has been checked.
    if (found != models.end()) {
      const auto both = ReadCombinations(found->second.manifest.cross_encoder());
      if (both.ok()) declared = images ? both->text_to_image : both->image_to_text;
    }
    info.rerankers.push_back({std::move(reranker.name), std::move(reranker.model), declared});
  }
  return status;
}

std::vector<GenerationUse> UsesOf(const StatusRequest& request) {
  std::vector<GenerationUse> uses;
  for (const StatusRequest::Use& use : request.uses) {
    uses.push_back({use.generation.index, use.generation.generation, use.may_release});
  }
  return uses;
}

std::vector<ModelStatus> DescribeModels(const LoadedModels& models) {
  std::vector<ModelStatus> described;
  for (const auto& [id, model] : models) {
    described.push_back({id, model.manifest.family(), model.manifest.embedding().space(),
                         model.manifest.description(), model.precision, model.agreement});
  }
  return described;
}

}  // namespace sightline
