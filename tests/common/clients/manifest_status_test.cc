#include "common/clients/manifest_status.h"

#include <memory>
#include <utility>
#include <vector>

#include "common/base/error_details.h"
#include "common/base/read_progress.h"
#include "common/bundle/rerankers.h"
#include "tests/common/bundle/manifests.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

HeldGeneration Entry(const bundle::v1::GenerationManifest& manifest, int64_t sequence) {
  HeldGeneration entry;
  entry.index = manifest.index();
  entry.generation = manifest.generation();
  entry.state = HoldState::kReady;
  entry.sequence = sequence;
  entry.manifest = std::make_shared<const bundle::v1::GenerationManifest>(manifest);
  return entry;
}

GenerationStatus Describe(const HeldGeneration& entry, std::vector<int> held_shards,
                          const LoadedModels& models) {
  return DescribeGeneration(entry, std::move(held_shards), models, absl::UnixEpoch());
}

TEST_CASE("a generation is described as its manifest has it") {
  const bundle::v1::GenerationManifest manifest = SoundGenerationManifest();
  const GenerationStatus status = Describe(Entry(manifest, 9), {0, 1}, {});
  CHECK(status.state == GenerationState::kReady);
  CHECK(status.sequence == 9);
  CHECK(status.held_shards == std::vector<int>{0, 1});
  CHECK(status.info.ref.index == "images");
  CHECK(status.info.ref.generation == "g-1");
  CHECK(status.info.ref.space == manifest.embedding().space());
  CHECK(status.info.content == IndexContent::kImages);
  CHECK(status.info.dimension == 64);
  CHECK(status.info.shard_count == 2);
  CHECK(status.info.item_count == 5);
  CHECK(status.info.encoder_model == manifest.encoder_model());
  REQUIRE(status.info.rerankers.size() == 1);
  CHECK(status.info.rerankers[0].name == kDefaultReranker);
  CHECK(status.info.rerankers[0].model == manifest.reranker_model());
}

TEST_CASE("a refused generation says why, even when its manifest cannot be read") {
  HeldGeneration entry;
  entry.index = "images";
  entry.generation = "g-2";
  entry.state = HoldState::kRefused;
  entry.refusal = MakeError(reasons::kManifestInvalid, "no JSON");
  entry.needs_room = true;
  const GenerationStatus status = Describe(entry, {}, {});
  CHECK(status.state == GenerationState::kRefused);
  CHECK(status.reason == "MANIFEST_INVALID: no JSON");
  CHECK(status.needs_room);
  CHECK(status.info.ref.generation == "g-2");
  entry.refusal = absl::InternalError("odd");
  CHECK(Describe(entry, {}, {}).reason == "INTERNAL: odd");
}

TEST_CASE("of a generation that is read is told how much of how much, and for how long") {
  HeldGeneration entry = Entry(SoundGenerationManifest(), 9);
  entry.state = HoldState::kLoading;
  CHECK_FALSE(Describe(entry, {}, {}).progress.has_value());
  const auto progress =
      std::make_shared<ReadProgress>(ReadProgress::Files{{"/a", 100}, {"/b", 50}});
  const absl::Time since = absl::FromUnixSeconds(1'000'000);
  entry.reading = Reading{LoadStage::kVerifying, since, progress};
  progress->Add("/a", 30);
  const auto told = DescribeGeneration(entry, {}, {}, since + absl::Milliseconds(2500)).progress;
  REQUIRE(told.has_value());
  CHECK(told->stage == LoadStage::kVerifying);
  CHECK(told->read_bytes == 30);
  CHECK(told->total_bytes == 150);
  CHECK(told->elapsed == absl::Milliseconds(2500));
}

TEST_CASE("captions are told from images") {
  bundle::v1::GenerationManifest manifest = SoundGenerationManifest();
  manifest.set_item_kind(bundle::v1::CAPTION);
  CHECK(Describe(Entry(manifest, 1), {}, {}).info.content == IndexContent::kCaptions);
}

TEST_CASE("each reranker is told with its name and what its own bundle declares") {
  bundle::v1::GenerationManifest manifest = SoundGenerationManifest();
  const std::string other = Sha256Hex("other");
  SetRerankers({{"fast", manifest.reranker_model()}, {"fine", other}}, &manifest);
  bundle::v1::ModelBundleManifest model = SoundModelManifest();
  model.mutable_cross_encoder()->set_combination("add_lambda");
  const auto rerankers = Describe(Entry(manifest, 1), {}, {{other, {model}}}).info.rerankers;
  REQUIRE(rerankers.size() == 2);
  CHECK(rerankers[0].name == "fast");
  CHECK(rerankers[0].declared.combination.kind == CombinationKind::kReplace);
  CHECK(rerankers[1].name == "fine");
  CHECK(rerankers[1].model == other);
  CHECK(rerankers[1].declared.combination.kind == CombinationKind::kAddLambda);
}

TEST_CASE("how scores combine is declared by the reranker's bundle, not the encoder's") {
  const bundle::v1::GenerationManifest manifest = SoundGenerationManifest();
  bundle::v1::ModelBundleManifest model = SoundModelManifest();
  model.mutable_cross_encoder()->set_combination("norm_add_lambda");
  model.mutable_cross_encoder()->set_combination_lambda(0.25f);
  const Combination none = Describe(Entry(manifest, 1), {}, {{manifest.encoder_model(), {model}}})
                               .info.rerankers.at(0)
                               .declared.combination;
  CHECK(none.kind == CombinationKind::kReplace);
  const Combination declared =
      Describe(Entry(manifest, 1), {}, {{manifest.reranker_model(), {model}}})
          .info.rerankers.at(0)
          .declared.combination;
  CHECK(declared.kind == CombinationKind::kNormAddLambda);
  CHECK(declared.lambda == 0.25f);
}

TEST_CASE("of what a bundle declares by direction, that in which the items are found is told") {
  bundle::v1::GenerationManifest manifest = SoundGenerationManifest();
  bundle::v1::ModelBundleManifest model = SoundModelManifest();
  model.mutable_cross_encoder()->set_combination("add_lambda");
  model.mutable_cross_encoder()->set_combination_lambda(0.75f);
  model.mutable_cross_encoder()->mutable_image_to_text()->set_combination("none");
  const auto told = [&] {
    return Describe(Entry(manifest, 1), {}, {{manifest.reranker_model(), {model}}})
        .info.rerankers.at(0)
        .declared;
  };
  CHECK(told().by_default);
  manifest.set_item_kind(bundle::v1::CAPTION);
  CHECK_FALSE(told().by_default);
  CHECK(told().combination.lambda == 0.75f);
}

TEST_CASE("models are listed with family, space, description and precision") {
  const auto models = DescribeModels({{"b", {SoundModelManifest(), "int8", 0.99}}, {"a", {}}});
  REQUIRE(models.size() == 2);
  CHECK(models[0].model == "a");
  CHECK(models[1].family == "oscar");
  CHECK(models[1].space == SoundModelManifest().embedding().space());
  CHECK(models[1].description == "for tests");
  CHECK(models[0].precision.empty());
  CHECK(models[1].precision == "int8");
  CHECK(models[1].agreement == 0.99);
}

}  // namespace
}  // namespace sightline
