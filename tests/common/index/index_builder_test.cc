#include "common/index/index_builder.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/checksum.h"
#include "common/base/error_details.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"
#include "common/bundle/generation.h"
#include "common/bundle/manifest.h"
#include "common/bundle/probe_file.h"
#include "common/bundle/verify.h"
#include "common/config/exit_status.h"
#include "common/index/effort_curve.h"
#include "common/index/recall_probes.h"
#include "common/index/row_scores.h"
#include "tests/common/bundle/items.h"
#include "tests/support/catch.h"
#include "tests/support/fake_clock.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

constexpr int64_t kBuildBytes = 1000, kFootprint = 400;

// What the fake kind below is told and tells.
struct Kitchen {
  std::atomic<int> started{0}, at_once{0}, most_at_once{0};
  std::atomic<int> first_stages{0};
  std::atomic<int> threads{0}, rows_in_memory{0};
  std::atomic<int> ends_after_stage_of{-1};  // the shard whose build is cut off
  double share = 1;                          // of the rows, that efforts below 4 find
  FakeClock clock;                           // moves by a microsecond of effort
};
Kitchen* kitchen = nullptr;

// A kind whose file is the digest of its rows; it has a stage that is kept.
absl::StatusOr<std::vector<bundle::v1::BundleFile>> Build(const IndexBuild& build) {
  ++kitchen->started;
  const int now = ++kitchen->at_once;
  int most = kitchen->most_at_once;
  while (now > most && !kitchen->most_at_once.compare_exchange_weak(most, now)) {
  }
  kitchen->threads = build.pool->threads();
  if (!build.vectors.on_disk()) ++kitchen->rows_in_memory;
  const std::string stage = JoinPath(build.work_directory, "digest");
  if (!FileExists(stage)) {
    ++kitchen->first_stages;
    std::vector<float> rows(build.vectors.rows * build.vectors.dimension);
    RETURN_IF_ERROR(CopyRows(build.vectors, 0, build.vectors.rows, rows.data()));
    RETURN_IF_ERROR(WriteFileAtomically(
        stage, Sha256Hex(absl::string_view(reinterpret_cast<const char*>(rows.data()),
                                           rows.size() * sizeof(float)))));
  }
  --kitchen->at_once;
  if (kitchen->ends_after_stage_of == build.shard) return absl::CancelledError("cut off");
  ASSIGN_OR_RETURN(std::string content, ReadFile(stage));
  absl::StrAppend(&content, " ", build.manifest->index_spec().seed());
  bundle::v1::BundleFile file;
  file.set_path(ShardFileName(build.shard, build.manifest->shards_size(), "fake"));
  RETURN_IF_ERROR(WriteFileAtomically(JoinPath(build.directory, file.path()), content));
  file.set_byte_count(static_cast<int64_t>(content.size()));
  file.set_sha256(Sha256Hex(content));
  return std::vector<bundle::v1::BundleFile>{file};
}

// Exact, but for the share of rows that little effort sees.
class Sampled : public VectorIndex {
 public:
  explicit Sampled(std::unique_ptr<VectorIndex> exact) : exact_(std::move(exact)) {}
  absl::StatusOr<std::vector<std::vector<Neighbor>>> Search(
      const EmbeddingMatrix& queries, const SearchOptions& options,
      const CallContext& call) const override {
    ASSIGN_OR_RETURN(auto found, exact_->Search(queries, options, call));
    kitchen->clock.Advance(absl::Microseconds(options.effort));
    if (IsExact(options)) return found;
    for (auto& list : found) list.resize(static_cast<size_t>(list.size() * kitchen->share));
    return found;
  }
  bool IsExact(const SearchOptions& options) const override { return options.effort >= 4; }
  int64_t byte_count() const override { return kFootprint; }
  int dimension() const override { return exact_->dimension(); }
  int64_t size() const override { return exact_->size(); }

 private:
  const std::unique_ptr<VectorIndex> exact_;
};

absl::StatusOr<std::unique_ptr<VectorIndex>> Open(absl::string_view directory,
                                                  const bundle::v1::GenerationManifest& manifest,
                                                  int shard, const VectorView& vectors,
                                                  ComputePool* pool, const CallContext&) {
  const bundle::v1::BundleFile& file = manifest.shards(shard).index_files(0);
  if (!FileExists(JoinPath(directory, file.path()))) return absl::DataLossError("no file");
  ASSIGN_OR_RETURN(auto exact, OpenFlatIndex(vectors, pool));
  return std::unique_ptr<VectorIndex>(new Sampled(std::move(exact)));
}

absl::Status Check(const bundle::v1::IndexSpec& spec, int) {
  return spec.seed() >= 0 ? absl::OkStatus() : absl::InvalidArgumentError("no such seed");
}
int64_t Footprint(const bundle::v1::GenerationManifest&, int) {
  return kFootprint;
}
int64_t BuildMemory(const bundle::v1::GenerationManifest&, int, int) {
  return kBuildBytes;
}

const IndexKind kFake = {"fake",
                         /*exact=*/false,
                         /*rows_on_disk=*/[](const bundle::v1::IndexSpec&) { return true; },
                         /*serial_build=*/false,
                         &Check,
                         &Footprint,
                         &BuildMemory,
                         &Build,
                         &Open,
                         /*on_device=*/nullptr};

IndexKind Serial() {
  IndexKind kind = kFake;
  kind.serial_build = true;
  return kind;
}

EmbeddingMatrix Queries(int count) {
  EmbeddingMatrix queries(count, kTestDimension);
  for (int64_t i = 0; i < count; ++i) {
    for (int k = 0; k < kTestDimension; ++k) {
      queries.mutable_row(i)[k] = static_cast<float>((i * 7 + k * 3) % 11 - 5);
    }
  }
  return queries;
}

struct Rig {
  explicit Rig(int shards = 3, bool probes = true) {
    kitchen = &own_kitchen;
    manifest = *WriteTestGeneration(store.path(), "g1", 60, shards);
    directory = GenerationDirectory(store.path(), "images", "g1");
    manifest.mutable_index_spec()->set_kind("fake");
    manifest.mutable_index_spec()->set_seed(7);
    RecallProbeOptions all;
    all.neighbor_count = 100;
    all.floor = 0;
    if (probes) {
      REQUIRE(AddRecallProbes(directory, Queries(8), all, &pool, call, &manifest).ok());
    }
  }
  ~Rig() { kitchen = nullptr; }

  absl::Status Build(const IndexKind& kind = kFake) {
    return BuildIndexes(directory, kind, options, &pool, call, nullptr, &manifest);
  }
  std::vector<std::string> Files() const {
    std::vector<std::string> contents;
    for (const auto& shard : manifest.shards()) {
      for (const auto& file : shard.index_files()) {
        contents.push_back(*ReadFile(JoinPath(directory, file.path())));
      }
    }
    return contents;
  }

  Kitchen own_kitchen;
  TempDir store;
  std::string directory;
  bundle::v1::GenerationManifest manifest;
  IndexBuildOptions options;
  ComputePool pool{2};
  CallContext call{&own_kitchen.clock, absl::InfiniteFuture()};
};

TEST_CASE("each shard is built, told of in the manifest, and measured") {
  Rig rig;
  rig.own_kitchen.share = 0.5;
  REQUIRE(rig.Build().ok());
  CHECK(rig.own_kitchen.started == 3);
  CHECK(rig.own_kitchen.threads == 2);
  CHECK(rig.own_kitchen.rows_in_memory == 3);
  CHECK(rig.Files().size() == 3);
  CHECK(CheckGenerationManifest(rig.manifest).ok());
  CHECK(VerifyGeneration(rig.store.path(), rig.manifest, {}).ok());
  for (const auto& shard : rig.manifest.shards()) {
    const EffortCurve curve(shard);
    CHECK(curve.RecallAt(1, 10) == Approx(0.5));
    CHECK(curve.RecallAt(4, 10) == 1);
    CHECK(shard.efforts(shard.efforts_size() - 1).effort() == 4);
  }
  // At the effort for recall 0.95 all is found, so the floor is a hundredth below.
  CHECK(rig.manifest.recall_probe().floor() == Approx(0.99));
  REQUIRE(RemoveIndexWork(rig.directory).ok());
  CHECK(!FileExists(IndexWorkFolder(rig.directory)));
  CHECK(RemoveIndexWork(rig.directory).ok());
}

TEST_CASE("the floor follows what the search without a wish finds") {
  Rig rig;
  rig.own_kitchen.share = 0.5;
  rig.manifest.mutable_index_spec()->set_default_recall(0.3);
  REQUIRE(rig.Build().ok());
  // Half of about 20 neighbors a query, the same of each: no error but the least.
  CHECK(rig.manifest.recall_probe().floor() < 0.5);
  CHECK(rig.manifest.recall_probe().floor() > 0.4);
  CHECK(RecallSearch(rig.manifest, 0, nullptr).effort < 4);
  CHECK(RecallSearch(rig.manifest, 0, nullptr).top_k == 10);
}

TEST_CASE("an index that was spoilt falls below the floor") {
  Rig rig;
  REQUIRE(rig.Build().ok());
  const auto recall_of = [&](int shard) {
    const auto rows =
        *ShardRows::Open(rig.directory, rig.manifest, shard, RowPlace::kMemory, rig.call);
    const auto index = *Open(rig.directory, rig.manifest, shard, rows->view(), &rig.pool, rig.call);
    const auto probes = *ReadProbes(
        JoinPath(rig.directory, rig.manifest.shards(shard).probes().path()), rig.manifest, shard);
    return *MeasureRecall(*index, probes, RecallSearch(rig.manifest, shard, nullptr), rig.call);
  };
  CHECK(recall_of(0) >= rig.manifest.recall_probe().floor());
  rig.own_kitchen.share = 0.9;
  CHECK(recall_of(0) < rig.manifest.recall_probe().floor());
}

TEST_CASE("a floor lies three standard errors below the mean") {
  std::vector<double> recalls;
  for (int i = 0; i < 100; ++i) recalls.push_back(i % 2 == 0 ? 0.8 : 1.0);
  // Deviation 0.1005 of 100 values.
  CHECK(RecallFloor(recalls) == Approx(0.9 - 3 * 0.01005).epsilon(1e-3));
  CHECK(RecallFloor({1, 1, 1}) == Approx(0.99));
  CHECK(RecallFloor({0, 0, 0, 1}) == 0);
}

TEST_CASE("without probes an index is built and not measured") {
  Rig rig(2, /*probes=*/false);
  REQUIRE(rig.Build().ok());
  CHECK(rig.Files().size() == 2);
  CHECK(rig.manifest.shards(0).efforts().empty());
  CHECK(!rig.manifest.has_recall_probe());
}

TEST_CASE("a build that was cut off goes on from there, to the same bytes") {
  Rig whole;
  REQUIRE(whole.Build().ok());
  const std::vector<std::string> expected = whole.Files();

  const bool serial = GENERATE(false, true);
  const IndexKind kind = serial ? Serial() : kFake;
  Rig rig;
  rig.own_kitchen.ends_after_stage_of = 2;
  const auto before = rig.manifest;
  CHECK(absl::IsCancelled(rig.Build(kind)));
  CHECK(rig.own_kitchen.first_stages == 3);
  rig.manifest = before;  // of another process
  rig.own_kitchen.ends_after_stage_of = -1;
  rig.own_kitchen.started = 0;
  const std::string torn =
      JoinPath(rig.directory, absl::StrCat(ShardFileName(2, 3, "fake"), ".12.0.tmp"));
  const std::string others =
      JoinPath(rig.directory, absl::StrCat(ShardFileName(2, 3, "vectors"), ".13.0.tmp"));
  for (const std::string& path : {torn, others}) {
    REQUIRE(WriteFileAtomically(path, "what was written until then").ok());
  }
  REQUIRE(rig.Build(kind).ok());
  CHECK(!FileExists(torn));
  CHECK(FileExists(others));
  CHECK(rig.own_kitchen.started == 1);       // the last shard
  CHECK(rig.own_kitchen.first_stages == 3);  // and not its first stage
  CHECK(rig.Files() == expected);
  CHECK(rig.manifest.shards(0).efforts_size() > 0);

  // What is built and measured is found again.
  const auto built = rig.manifest;
  rig.manifest = before;
  REQUIRE(rig.Build(kind).ok());
  CHECK(rig.own_kitchen.started == 1);
  CHECK(ManifestJson(rig.manifest) == ManifestJson(built));
}

TEST_CASE("what was built of another spec, or was damaged since, is built again") {
  Rig rig;
  const auto before = rig.manifest;
  REQUIRE(rig.Build().ok());
  const std::vector<std::string> first = rig.Files();
  rig.own_kitchen.started = 0;

  SECTION("another seed") {
    rig.manifest = before;
    rig.manifest.mutable_index_spec()->set_seed(8);
    REQUIRE(rig.Build().ok());
    CHECK(rig.own_kitchen.started == 3);
    CHECK(rig.Files() != first);
  }
  SECTION("another recall of searches that ask for none") {
    rig.manifest = before;
    rig.manifest.mutable_index_spec()->set_default_recall(0.8);
    REQUIRE(rig.Build().ok());
    CHECK(rig.own_kitchen.started == 0);
  }
  SECTION("a file of other bytes, and one that is gone") {
    const auto path = [&](int shard) {
      return JoinPath(rig.directory, rig.manifest.shards(shard).index_files(0).path());
    };
    std::string other = *ReadFile(path(0));
    other[0] ^= 1;
    REQUIRE(WriteFileAtomically(path(0), other).ok());
    REQUIRE(std::remove(path(1).c_str()) == 0);
    rig.manifest = before;
    REQUIRE(rig.Build().ok());
    CHECK(rig.own_kitchen.started == 2);
    CHECK(rig.Files() == first);
  }
  SECTION("a record that is none") {
    REQUIRE(WriteFileAtomically(JoinPath(IndexWorkFolder(rig.directory), "00001.json"),
                                GENERATE("", "{}", "[1]", R"({"key": 3, "shard": "x"})"))
                .ok());
    rig.manifest = before;
    REQUIRE(rig.Build().ok());
    CHECK(rig.own_kitchen.started == 1);
    CHECK(rig.Files() == first);
  }
}

TEST_CASE("other probes are measured anew, of the same files") {
  Rig rig;
  auto before = rig.manifest;
  REQUIRE(rig.Build().ok());
  rig.own_kitchen.started = 0;
  rig.own_kitchen.share = 0.25;
  rig.manifest = before;
  RecallProbeOptions options;
  options.neighbor_count = 100;
  REQUIRE(
      AddRecallProbes(rig.directory, Queries(5), options, &rig.pool, rig.call, &rig.manifest).ok());
  REQUIRE(rig.Build().ok());
  CHECK(rig.own_kitchen.started == 0);
  CHECK(EffortCurve(rig.manifest.shards(0)).RecallAt(1, 10) == Approx(0.25).margin(0.06));
}

TEST_CASE("memory is planned before anything is built") {
  Rig rig(2);
  const int64_t rows = std::max(RowBytes(rig.manifest, 0), RowBytes(rig.manifest, 1));
  CHECK(rows ==
        std::max(rig.manifest.shards(0).item_count(), rig.manifest.shards(1).item_count()) * 64);
  const auto plan = [&](int64_t bytes, const IndexKind& kind, int threads = 4) {
    return PlanIndexBuild(rig.manifest, kind, {bytes}, threads);
  };
  SECTION("rows in memory, where they have room") {
    const auto planned = plan(kBuildBytes + rows, kFake);
    REQUIRE(planned.ok());
    CHECK(planned->rows == RowPlace::kMemory);
    CHECK(planned->bytes == kBuildBytes + rows);
    CHECK(planned->shards_at_once == 1);
  }
  SECTION("else on the disk") {
    const auto planned = plan(kBuildBytes + rows - 1, kFake);
    REQUIRE(planned.ok());
    CHECK(planned->rows == RowPlace::kDisk);
    const int64_t checksums = rows / 64 * 4;
    CHECK(planned->bytes == kBuildBytes + checksums);
    rig.options.max_bytes = kBuildBytes + checksums;
    REQUIRE(rig.Build().ok() == false);  // the fake's flat index takes none from there
    CHECK(rig.own_kitchen.rows_in_memory == 0);
    CHECK(rig.own_kitchen.started == 2);
  }
  SECTION("shards side by side, as many as have room") {
    CHECK(plan(2 * (kBuildBytes + rows), Serial())->shards_at_once == 2);
    CHECK(plan(9 * (kBuildBytes + rows), Serial())->shards_at_once == 2);
    CHECK(plan(9 * (kBuildBytes + rows), Serial(), 1)->shards_at_once == 1);
    CHECK(plan(2 * (kBuildBytes + rows) - 1, Serial())->shards_at_once == 1);
    CHECK(plan(2 * (kBuildBytes + rows), Serial())->bytes == 2 * (kBuildBytes + rows));
  }
  SECTION("none at all") {
    IndexKind in_memory = kFake;
    in_memory.rows_on_disk = [](const bundle::v1::IndexSpec&) { return false; };
    for (const absl::Status& status : {plan(kBuildBytes - 1, kFake).status(),
                                       plan(kBuildBytes + rows - 1, in_memory).status()}) {
      CHECK(absl::IsResourceExhausted(status));
      CHECK(ExitStatusOf(status) == kFailure);  // no later time is better
    }
    rig.options.max_bytes = kBuildBytes - 1;
    CHECK(absl::IsResourceExhausted(rig.Build()));
    CHECK(rig.own_kitchen.started == 0);
  }
  SECTION("no disk for the files, which is told before the first is begun") {
    IndexKind large = kFake;
    large.footprint = [](const bundle::v1::GenerationManifest&, int) { return int64_t{1} << 60; };
    rig.options.max_bytes = int64_t{1} << 62;
    const absl::Status status = rig.Build(large);
    CHECK(absl::IsResourceExhausted(status));
    CHECK(absl::StrContains(status.message(), "of disk"));
    CHECK(absl::IsResourceExhausted(rig.Build(large)));  // whatever the first has left
    CHECK(rig.own_kitchen.started == 0);
    // Those that are built take no more.
    rig.own_kitchen.ends_after_stage_of = 1;
    CHECK(absl::IsCancelled(rig.Build()));
    large.footprint = [](const bundle::v1::GenerationManifest&, int shard) {
      return int64_t{1} << (shard == 0 ? 60 : 10);
    };
    rig.own_kitchen.ends_after_stage_of = -1;
    CHECK(rig.Build(large).ok());
  }
  SECTION("rows on the disk of a kind that cannot leave them there") {
    IndexKind in_memory = kFake;
    in_memory.rows_on_disk = [](const bundle::v1::IndexSpec&) { return false; };
    rig.manifest.mutable_index_spec()->set_rows_on_disk(true);
    CHECK(absl::IsInvalidArgument(plan(9 * (kBuildBytes + rows), in_memory).status()));
    CHECK(plan(9 * (kBuildBytes + rows), kFake).ok());
  }
  SECTION("parameters that the kind does not take") {
    rig.manifest.mutable_index_spec()->set_seed(-1);
    CHECK(absl::IsInvalidArgument(rig.Build()));
    CHECK(rig.own_kitchen.started == 0);
  }
}

TEST_CASE("a call that is over builds nothing more") {
  Rig rig;
  rig.call.cancellation()->Cancel();
  CHECK(absl::IsCancelled(rig.Build()));
  CHECK(rig.own_kitchen.started == 0);
}

}  // namespace
}  // namespace sightline
