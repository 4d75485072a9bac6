// A synthetic generation stands in for one that models made; here with real ones.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "common/base/files.h"
#include "common/bundle/generation.h"
#include "common/bundle/verify.h"
#include "loadtest/synthesize/synthesis.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tiny_store.h"

namespace sightline {
namespace {

constexpr int kTinyRegions = 16;  // as many as the tiny model reads

struct Fixture {
  Fixture() : store(MakeTinyStore(dir.path(), 2)) {
    options.store = dir.path();
    options.index = "synthetic";
    options.items = 50;
    options.shards = 2;
    options.encoder_model = options.reranker_model = store.model->id();
  }

  absl::StatusOr<bundle::v1::GenerationManifest> Run() {
    const absl::StatusOr<SynthesisPlan> plan = PlanSynthesis(options);
    if (!plan.ok()) return plan.status();
    Progress progress(Progress::Options(), Clock::Real());
    const auto summary = Synthesize(*plan, CallContext::Unbounded(), store.pool.get(), &progress);
    if (!summary.ok()) return summary.status();
    return ReadGenerationManifest(dir.path(), "synthetic", summary->generation);
  }

  TempDir dir;
  TinyStore store;
  SynthesisOptions options;
};

TEST_CASE("the generation is of the encoder's space") {
  Fixture f;
  const auto manifest = f.Run();
  INFO(manifest.status());
  REQUIRE(manifest.ok());
  REQUIRE(manifest->embedding().space() == f.store.model->space());
  REQUIRE(manifest->embedding().dimension() == f.store.model->dimension());
  REQUIRE(manifest->encoder_model() == f.store.model->id());
  VerifyOptions verify;
  verify.sha256 = true;
  REQUIRE(VerifyGeneration(f.dir.path(), *manifest, verify).ok());
}

TEST_CASE("the reranker scores the features that were made for it") {
  for (const int regions : {0, 5}) {
    Fixture f;
    f.options.regions = regions;
    const auto manifest = f.Run();
    REQUIRE(manifest.ok());
    REQUIRE(manifest->reranker_model() == f.store.model->id());
    const CrossEncoder& reranker = *f.store.model->cross_encoder();
    const ItemFeatures text = *TextFeatures(*f.store.model, "a red fish");
    const std::string directory =
        GenerationDirectory(f.dir.path(), "synthetic", manifest->generation());
    for (int shard = 0; shard < 2; ++shard) {
      const auto& description = manifest->shards(shard);
      const auto features =
          FeatureStore::Open(JoinPath(directory, description.features().path()), description);
      REQUIRE(features.ok());
      const auto items = *(*features)->Get(f.store.model->id(), {0, description.item_count() - 1});
      REQUIRE(items[0].Find("regions")->rows == (regions == 0 ? kTinyRegions : regions));
      REQUIRE(items[0].Find("regions")->bytes != items[1].Find("regions")->bytes);
      const auto scores =
          reranker.Score({{&text, &items[0]}, {&text, &items[1]}}, CallContext::Unbounded());
      REQUIRE(scores.ok());
      REQUIRE((*scores)[0] != (*scores)[1]);
    }
  }
}

TEST_CASE("what the models cannot read is refused") {
  Fixture f;
  f.options.vectors.dimension = 33;
  REQUIRE(absl::StrContains(f.Run().status().message(), "leave --dimension out"));
  f.options.vectors.dimension = 0;
  f.options.regions = kTinyRegions + 1;
  REQUIRE(absl::StrContains(f.Run().status().message(), "reads 1 to 16"));
}

}  // namespace
}  // namespace sightline
