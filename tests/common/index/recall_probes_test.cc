#include "common/index/recall_probes.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "common/base/files.h"
#include "common/bundle/generation.h"
#include "common/bundle/manifest.h"
#include "common/bundle/verify.h"
#include "common/index/shard_view.h"
#include "tests/common/bundle/items.h"
#include "tests/common/bundle/stored_embedding.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

EmbeddingMatrix Queries(int count) {
  EmbeddingMatrix queries(count, kTestDimension);
  for (int64_t i = 0; i < count; ++i) {
    for (int k = 0; k < kTestDimension; ++k) {
      queries.mutable_row(i)[k] = static_cast<float>((i * 7 + k * 3) % 11 - 5);
    }
  }
  return queries;
}

// A generation of two shards whose manifest is still open.
struct Rig {
  explicit Rig(int items = 30) {
    auto written = WriteTestGeneration(store.path(), "g1", items, 2);
    REQUIRE(written.ok());
    manifest = *std::move(written);
    directory = GenerationDirectory(store.path(), "images", "g1");
  }
  absl::Status Add(const RecallProbeOptions& options = {}) {
    return AddRecallProbes(directory, Queries(8), options, &pool, CallContext::Unbounded(),
                           &manifest);
  }
  std::string ProbesPath(int shard) const {
    return JoinPath(directory, manifest.shards(shard).probes().path());
  }
  TempDir store;
  std::string directory;
  ComputePool pool{1};
  bundle::v1::GenerationManifest manifest;
};

// Scores all rows, slowly.
std::vector<int64_t> TrueNeighbors(const ShardVectors& vectors, absl::Span<const float> query,
                                   size_t count) {
  std::vector<std::pair<double, int64_t>> all;
  for (int64_t row = 0; row < vectors.size(); ++row) {
    const std::vector<float> stored = StoredEmbedding(vectors, row);
    double sum = 0;
    for (int k = 0; k < kTestDimension; ++k) sum += double{query[k]} * stored[k];
    all.emplace_back(-sum, row);
  }
  std::stable_sort(all.begin(), all.end());
  std::vector<int64_t> rows;
  for (size_t i = 0; i < std::min(count, all.size()); ++i) rows.push_back(all[i].second);
  return rows;
}

TEST_CASE("probes are the true neighbors of each shard, and the manifest tells of them") {
  Rig rig;
  RecallProbeOptions options;
  options.neighbor_count = 5;
  options.floor = 0.9;
  // All at once, four rows, one.
  options.bytes_at_once = GENERATE(int64_t{1} << 20, int64_t{4 * 4 * kTestDimension}, int64_t{1});
  REQUIRE(rig.Add(options).ok());
  CHECK(rig.manifest.recall_probe().query_count() == 8);
  CHECK(rig.manifest.recall_probe().neighbor_count() == 5);
  CHECK(rig.manifest.recall_probe().floor() == 0.9);
  CHECK(CheckGenerationManifest(rig.manifest).ok());
  CHECK(VerifyGeneration(rig.store.path(), rig.manifest, {}).ok());
  for (int shard = 0; shard < 2; ++shard) {
    const auto probes = ReadProbes(rig.ProbesPath(shard), rig.manifest, shard);
    REQUIRE(probes.ok());
    const auto vectors =
        ShardVectors::Open(JoinPath(rig.directory, rig.manifest.shards(shard).vectors().path()),
                           rig.manifest.shards(shard), kTestDimension);
    REQUIRE(vectors.ok());
    REQUIRE((*vectors)->Load(CallContext::Unbounded()).ok());
    for (int64_t i = 0; i < 8; ++i) {
      CHECK(probes->neighbors[i] == TrueNeighbors(**vectors, Queries(8).row(i), 5));
    }
    const auto index = OpenFlatIndex(ViewOf(**vectors), &rig.pool);
    CHECK(*MeasureRecall(**index, *probes, {5}, CallContext::Unbounded()) == 1.0);
  }
}

TEST_CASE("recall is the share of true neighbors found") {
  Rig rig;
  RecallProbeOptions options;
  options.neighbor_count = 4;
  REQUIRE(rig.Add(options).ok());
  auto probes = *ReadProbes(rig.ProbesPath(0), rig.manifest, 0);
  const auto vectors =
      *ShardVectors::Open(JoinPath(rig.directory, rig.manifest.shards(0).vectors().path()),
                          rig.manifest.shards(0), kTestDimension);
  REQUIRE(vectors->Load(CallContext::Unbounded()).ok());
  const auto index = *OpenFlatIndex(ViewOf(*vectors), &rig.pool);
  // In each list one that is not among the four best.
  for (size_t i = 0; i < probes.neighbors.size(); ++i) {
    const auto all = TrueNeighbors(*vectors, probes.queries.row(i), 100);
    probes.neighbors[i][1] = all.back();
  }
  CHECK(*MeasureRecall(*index, probes, {4}, CallContext::Unbounded()) == Approx(0.75));
  probes.neighbors.clear();
  CHECK(*MeasureRecall(*index, probes, {4}, CallContext::Unbounded()) == 1.0);
}

TEST_CASE("a shard with fewer items than neighbors has what there is") {
  Rig rig(/*items=*/1);  // one of the two shards is empty
  REQUIRE(rig.Add().ok());
  CHECK(VerifyGeneration(rig.store.path(), rig.manifest, {}).ok());
  size_t neighbors = 0;
  for (int shard = 0; shard < 2; ++shard) {
    const auto probes = ReadProbes(rig.ProbesPath(shard), rig.manifest, shard);
    REQUIRE(probes.ok());
    neighbors += probes->neighbors.front().size();
  }
  CHECK(neighbors == 1);
}

TEST_CASE("no queries or no items, no probes") {
  Rig rig;
  REQUIRE(AddRecallProbes(rig.directory, EmbeddingMatrix(), {}, &rig.pool, CallContext::Unbounded(),
                          &rig.manifest)
              .ok());
  CHECK(!rig.manifest.has_recall_probe());
  Rig empty(0);
  REQUIRE(empty.Add().ok());
  CHECK(!empty.manifest.has_recall_probe());
}

TEST_CASE("a probes file that is not what the manifest says is refused") {
  Rig rig;
  REQUIRE(rig.Add().ok());
  const auto read = [&](const bundle::v1::GenerationManifest& manifest) {
    return ReadProbes(rig.ProbesPath(0), manifest, 0).status();
  };
  REQUIRE(read(rig.manifest).ok());
  auto lying = rig.manifest;
  lying.mutable_recall_probe()->set_query_count(9);
  CHECK(absl::IsDataLoss(read(lying)));
  lying = rig.manifest;
  lying.mutable_recall_probe()->set_neighbor_count(3);
  CHECK(absl::IsDataLoss(read(lying)));
  lying = rig.manifest;
  lying.mutable_embedding()->set_dimension(kTestDimension + 1);
  CHECK(absl::IsDataLoss(read(lying)));
  // Rows beyond the shard.
  Probes probes = *ReadProbes(rig.ProbesPath(0), rig.manifest, 0);
  probes.neighbors[0][0] = rig.manifest.shards(0).item_count();
  const auto written = WriteProbes(rig.directory, "shards/lie.probes", probes);
  REQUIRE(written.ok());
  lying = rig.manifest;
  *lying.mutable_shards(0)->mutable_probes() = *written;
  CHECK(absl::IsDataLoss(
      ReadProbes(JoinPath(rig.directory, "shards/lie.probes"), lying, 0).status()));
}

}  // namespace
}  // namespace sightline
