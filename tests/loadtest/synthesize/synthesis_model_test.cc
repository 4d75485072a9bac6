// A synthetic generation stands in for one that models made; here with real ones.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "common/base/files.h"
#include "common/bundle/generation.h"
#include "common/bundle/probe_file.h"
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

TEST_CASE("items that are grown from a store are of its space, and probed with its captions") {
  Fixture f;
  const auto pairs = ReadStoredPairs(f.dir.path(), kTinyImages, kTinyCaptions, f.store.pool.get(),
                                     CallContext::Unbounded());
  REQUIRE(pairs.ok());
  REQUIRE(pairs->embeddings.queries.rows() > 0);
  const std::string drawn = PlanSynthesis(f.options)->options.generation;
  f.options.like = std::make_shared<const StoredPairs>(*pairs);
  const auto manifest = f.Run();
  INFO(manifest.status());
  REQUIRE(manifest.ok());
  REQUIRE(manifest->generation() != drawn);
  REQUIRE(manifest->embedding().space() == f.store.model->space());
  const std::string directory =
      GenerationDirectory(f.dir.path(), "synthetic", manifest->generation());
  const auto probes =
      ReadProbes(JoinPath(directory, manifest->shards(0).probes().path()), *manifest, 0);
  INFO(probes.status());
  REQUIRE(probes.ok());
  const EmbeddingMatrix& captions = pairs->embeddings.queries;
  for (int64_t i = 0; i < probes->queries.rows(); ++i) {
    bool found = false;
    for (int64_t row = 0; row < captions.rows(); ++row) {
      found = found || std::equal(captions.row(row).begin(), captions.row(row).end(),
                                  probes->queries.row(i).begin());
    }
    REQUIRE(found);
  }

  // Another space, or no captions, is no store to grow from.
  StoredPairs other = *pairs;
  other.space = std::string(64, 'a');
  f.options.like = std::make_shared<const StoredPairs>(other);
  REQUIRE(absl::StrContains(PlanSynthesis(f.options).status().message(), "embedding space"));
  other.embeddings.queries = EmbeddingMatrix(0, captions.dimension());
  f.options.like = std::make_shared<const StoredPairs>(other);
  REQUIRE(absl::StrContains(PlanSynthesis(f.options).status().message(), "has no captions"));
  f.options.like = std::make_shared<const StoredPairs>(*pairs);
  f.options.encoder_model.clear();
  f.options.reranker_model.clear();
  f.options.vectors.dimension = captions.dimension() + 1;
  REQUIRE(absl::StrContains(PlanSynthesis(f.options).status().message(), "numbers, not"));
  f.options.vectors.dimension = 0;
  REQUIRE(PlanSynthesis(f.options)->options.vectors.dimension == captions.dimension());
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
