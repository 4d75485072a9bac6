#include "common/index/index_choice.h"

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/checksum.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"
#include "common/bundle/generation.h"
#include "common/bundle/manifest.h"
#include "common/bundle/probe_file.h"
#include "common/index/choice_sample.h"
#include "common/index/index_kinds.h"
#include "common/index/shard_rows.h"
#include "common/index/spec_defaults.h"
#include "common/index/tried_index.h"
#include "tests/common/bundle/items.h"
#include "tests/support/catch.h"
#include "tests/support/fake_clock.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

// What kinds of the test share; each takes its time, and its memory, by the seed of its name.
struct Kitchen {
  FakeClock clock;
  int built = 0;
  int cancel_after = -1;  // builds
};
Kitchen* kitchen = nullptr;

// Finds all from effort 8 on, or half of it, and takes so many microseconds a unit of effort.
template <int kMicroseconds, bool kHalfOnly>
class Timed : public VectorIndex {
 public:
  explicit Timed(std::unique_ptr<VectorIndex> exact) : exact_(std::move(exact)) {}
  absl::StatusOr<std::vector<std::vector<Neighbor>>> Search(
      const EmbeddingMatrix& queries, const SearchOptions& options,
      const CallContext& call) const override {
    ASSIGN_OR_RETURN(auto found, exact_->Search(queries, options, call));
    kitchen->clock.Advance(absl::Microseconds(kMicroseconds * std::min(options.effort, 8)));
    for (auto& list : found) {
      list.resize(list.size() * static_cast<size_t>(std::min(options.effort, kHalfOnly ? 4 : 8)) /
                  8);
    }
    return found;
  }
  bool IsExact(const SearchOptions& options) const override { return options.effort >= 8; }
  int64_t byte_count() const override { return 0; }
  int dimension() const override { return exact_->dimension(); }
  int64_t size() const override { return exact_->size(); }

 private:
  const std::unique_ptr<VectorIndex> exact_;
};

absl::Status Check(const bundle::v1::IndexSpec&, int) {
  return absl::OkStatus();
}

absl::StatusOr<std::vector<bundle::v1::BundleFile>> Build(const IndexBuild& build) {
  if (kitchen->built == kitchen->cancel_after) return absl::CancelledError("cut off");
  ++kitchen->built;
  bundle::v1::BundleFile file;
  const std::string content = build.manifest->index_spec().kind();
  file.set_path(ShardFileName(build.shard, build.manifest->shards_size(), content));
  RETURN_IF_ERROR(WriteFileAtomically(JoinPath(build.directory, file.path()), content));
  file.set_byte_count(static_cast<int64_t>(content.size()));
  file.set_sha256(Sha256Hex(content));
  return std::vector<bundle::v1::BundleFile>{file};
}

int64_t NoMemory(const bundle::v1::GenerationManifest&, int, int) {
  return 0;
}

template <int kBytesPerItem>
int64_t Footprint(const bundle::v1::GenerationManifest& manifest, int shard) {
  return kBytesPerItem * manifest.shards(shard).item_count();
}

template <int kMicroseconds, bool kHalfOnly>
absl::StatusOr<std::unique_ptr<VectorIndex>> Open(absl::string_view,
                                                  const bundle::v1::GenerationManifest&, int,
                                                  const VectorView& vectors, ComputePool* pool,
                                                  const CallContext&) {
  ASSIGN_OR_RETURN(auto exact, OpenFlatIndex(vectors, pool));
  return std::unique_ptr<VectorIndex>(new Timed<kMicroseconds, kHalfOnly>(std::move(exact)));
}

template <int kBytesPerItem, int kMicroseconds, bool kHalfOnly = false>
IndexKind Kind(const char* name) {
  return {name,      false,  [](const bundle::v1::IndexSpec&) { return false; },
          false,     &Check, &Footprint<kBytesPerItem>,
          &NoMemory, &Build, &Open<kMicroseconds, kHalfOnly>};
}

const IndexKind kSmallSlow = Kind<10, 50>("small_slow");
const IndexKind kMiddle = Kind<100, 20>("middle");
const IndexKind kLargeFast = Kind<1000, 5>("large_fast");
const IndexKind kHalf = Kind<10, 5, true>("half");

IndexTrial Trial(const IndexKind& kind) {
  IndexTrial trial;
  trial.kind = &kind;
  return trial;
}

constexpr int kRowBytes = 64;  // of five floats, padded

struct Rig {
  Rig() {
    kitchen = &own_kitchen;
    manifest = *WriteTestGeneration(store.path(), "g1", 200, 2);
    directory = GenerationDirectory(store.path(), "images", "g1");
    for (int64_t i = 0; i < queries.rows(); ++i) {
      for (int k = 0; k < kTestDimension; ++k) {
        queries.mutable_row(i)[k] = static_cast<float>((i * 7 + k * 3) % 11 - 5);
      }
    }
  }
  ~Rig() { kitchen = nullptr; }
  absl::StatusOr<IndexChoice> Choose() {
    return ChooseIndex(directory, manifest, queries, target, trials, options, &pool, call, nullptr);
  }

  Kitchen own_kitchen;
  TempDir store;
  std::string directory;
  bundle::v1::GenerationManifest manifest;
  EmbeddingMatrix queries{16, kTestDimension};
  IndexTarget target;
  std::vector<IndexTrial> trials = {Trial(kSmallSlow), Trial(kMiddle), Trial(kLargeFast)};
  ChoiceOptions options;
  ComputePool pool{1};
  CallContext call{&own_kitchen.clock, absl::InfiniteFuture()};
};

TEST_CASE("without a bound of memory the fastest at the recall is chosen") {
  Rig rig;
  const auto choice = rig.Choose();
  REQUIRE(choice.ok());
  CHECK(choice->spec.kind() == "large_fast");
  CHECK(choice->spec.default_recall() == 0.95);
  CHECK(choice->chosen == 2);
  CHECK(choice->tried[2].verdict == "chosen");
  CHECK(choice->tried[2].bytes_per_item == Approx(1000 + kRowBytes));
  // Recall 0.95 of ten needs effort 8: 7 of 8 finds 8.
  CHECK(choice->tried[2].seconds == Approx(8 * 5e-6).epsilon(0.01));
  CHECK(choice->tried[1].verdict == "takes 4.00 times as long");
  CHECK(choice->tried[0].verdict == "takes 10.00 times as long");
  CHECK(choice->shard_rows == GreatestShard(rig.manifest));
  CHECK(choice->sample_rows == choice->shard_rows);
}

TEST_CASE("of kinds that are exact the fastest is chosen for a recall of 1") {
  Rig rig;
  IndexKind slow = kSmallSlow, fast = kMiddle;
  slow.exact = fast.exact = true;
  rig.trials = {Trial(kLargeFast), Trial(slow), Trial(fast)};
  rig.target.recall = 1;
  const auto choice = rig.Choose();
  REQUIRE(choice.ok());
  CHECK(choice->spec.kind() == "middle");
  CHECK(choice->tried[2].seconds < 1e-2);
}

TEST_CASE("memory an item is a bound, rows included") {
  Rig rig;
  rig.target.bytes_per_item = 100 + kRowBytes;
  const auto choice = rig.Choose();
  REQUIRE(choice.ok());
  CHECK(choice->spec.kind() == "middle");
  CHECK(absl::StrContains(choice->tried[2].verdict, "takes 1064 bytes an item"));
  rig.target.bytes_per_item = 99 + kRowBytes;
  CHECK(rig.Choose()->spec.kind() == "small_slow");
  rig.target.bytes_per_item = 9 + kRowBytes;
  const absl::Status none = rig.Choose().status();
  CHECK(absl::IsFailedPrecondition(none));
  CHECK(absl::StrContains(none.message(), "takes 74 bytes an item"));
  // Rows alone are too much: nothing is built for that.
  rig.own_kitchen.built = 0;
  rig.target.bytes_per_item = kRowBytes - 1;
  CHECK(absl::IsFailedPrecondition(rig.Choose().status()));
  CHECK(rig.own_kitchen.built == 0);
  // Rows on the disk leave a checksum each.
  IndexKind on_disk = kMiddle;
  on_disk.rows_on_disk = [](const bundle::v1::IndexSpec&) { return true; };
  rig.trials = {Trial(on_disk)};
  rig.trials[0].spec.set_rows_on_disk(true);
  rig.target.bytes_per_item = 3;
  CHECK(absl::StrContains(rig.Choose().status().message(), "takes 4 bytes an item"));
  CHECK(rig.own_kitchen.built == 0);
}

TEST_CASE("time is that of the recall that was asked for, and too little recall is told") {
  Rig rig;
  rig.target.recall = 0.2;
  const auto choice = rig.Choose();
  REQUIRE(choice.ok());
  CHECK(choice->tried[2].seconds < 8 * 5e-6 / 2);

  Rig never;
  never.trials = {Trial(kHalf)};
  const absl::Status none = never.Choose().status();
  CHECK(absl::IsFailedPrecondition(none));
  CHECK(absl::StrContains(none.message(), "finds 0.5000 at most"));
}

TEST_CASE("what was tried is not tried again by the next run") {
  Rig rig;
  rig.own_kitchen.cancel_after = 2;
  CHECK(absl::IsCancelled(rig.Choose().status()));
  rig.own_kitchen.cancel_after = -1;
  rig.own_kitchen.built = 0;
  const auto choice = rig.Choose();
  REQUIRE(choice.ok());
  CHECK(rig.own_kitchen.built == 1);
  CHECK(choice->spec.kind() == "large_fast");
  // Of another sample all are.
  rig.target.seed = 2;
  rig.options.sample_rows = 50;
  rig.own_kitchen.built = 0;
  REQUIRE(rig.Choose().ok());
  CHECK(rig.own_kitchen.built == 3);
}

TEST_CASE("lists grow with the root of the rows") {
  Rig rig;
  rig.options.sample_rows = 25;
  IndexTrial trial = Trial(kLargeFast);
  trial.list_factor = 2;
  rig.trials = {trial};
  const auto choice = rig.Choose();
  REQUIRE(choice.ok());
  CHECK(choice->tried[0].spec.ivf().list_count() == 10);
  CHECK(choice->sample_rows == 25);
  CHECK(choice->spec.ivf().list_count() == ListCountFor(choice->shard_rows, 2));
}

TEST_CASE("what takes more memory to build than there is, is left out, and the others are tried") {
  Rig rig;
  IndexKind hungry = kLargeFast;
  hungry.build_memory = [](const bundle::v1::GenerationManifest&, int, int) {
    return int64_t{1} << 40;
  };
  rig.trials = {Trial(hungry), Trial(kMiddle)};
  rig.options.build.max_bytes = int64_t{1} << 30;
  const auto choice = rig.Choose();
  REQUIRE(choice.ok());
  CHECK(choice->chosen == 1);
  CHECK(rig.own_kitchen.built == 1);
  CHECK(absl::StrContains(choice->tried[0].verdict, "memory"));
}

TEST_CASE("parts of codes grow with the dimension") {
  Rig rig;
  IndexTrial trial = Trial(kLargeFast);
  trial.numbers_of_part = 1;
  rig.trials = {trial};
  const auto choice = rig.Choose();
  REQUIRE(choice.ok());
  CHECK(choice->spec.ivf().pq_parts() == rig.manifest.embedding().dimension());
  rig.trials[0].numbers_of_part = 1000;
  rig.target.seed = 2;
  const auto one_part = rig.Choose();
  REQUIRE(one_part.ok());
  CHECK(one_part->spec.ivf().pq_parts() == 1);
}

TEST_CASE("without items or queries nothing can be told") {
  Rig rig;
  rig.queries = EmbeddingMatrix();
  CHECK(absl::IsFailedPrecondition(rig.Choose().status()));
}

TEST_CASE("draws are even, ascending and repeatable") {
  CHECK(DrawRows(5, 10, 1) == std::vector<int64_t>{0, 1, 2, 3, 4});
  CHECK(DrawRows(5, 0, 1).empty());
  const std::vector<int64_t> drawn = DrawRows(1000, 100, 7);
  CHECK(drawn.size() == 100);
  CHECK(std::is_sorted(drawn.begin(), drawn.end()));
  CHECK(std::adjacent_find(drawn.begin(), drawn.end()) == drawn.end());
  CHECK(DrawRows(1000, 100, 7) == drawn);
  CHECK(DrawRows(1000, 100, 8) != drawn);
  std::vector<int> counts(20);
  for (int64_t seed = 0; seed < 2000; ++seed) {
    for (const int64_t row : DrawRows(20, 5, seed)) ++counts[static_cast<size_t>(row)];
  }
  // 500 each; the deviation is below 20.
  for (const int count : counts) CHECK(std::abs(count - 500) < 100);
}

TEST_CASE("a sample has the rows of the shard and their true neighbors") {
  Rig rig;
  TempDir folder;
  const auto sample = WriteSample(rig.directory, rig.manifest, 30, 3, rig.queries, folder.path(),
                                  &rig.pool, rig.call);
  REQUIRE(sample.ok());
  CHECK(sample->item_count() == 30);
  const int shard =
      rig.manifest.shards(0).item_count() >= rig.manifest.shards(1).item_count() ? 0 : 1;
  const auto of_shard =
      ShardRows::Open(rig.directory, rig.manifest, shard, RowPlace::kMemory, rig.call);
  const auto rows = ShardRows::Open(folder.path(), *sample, 0, RowPlace::kMemory, rig.call);
  REQUIRE(of_shard.ok());
  REQUIRE(rows.ok());
  const std::vector<int64_t> drawn = DrawRows(rig.manifest.shards(shard).item_count(), 30, 3);
  for (int64_t i = 0; i < 30; ++i) {
    const float* const own = (*rows)->view().float_row(i);
    CHECK(std::equal(own, own + kTestDimension, (*of_shard)->view().float_row(drawn[i])));
  }
  const auto probes =
      ReadProbes(JoinPath(folder.path(), sample->shards(0).probes().path()), *sample, 0);
  REQUIRE(probes.ok());
  CHECK(probes->neighbors.front().size() == 30);
}

TEST_CASE("trials are of the kinds that there are, with rows on the disk where memory is short") {
  IndexTarget target;
  for (const IndexTrial& trial : TrialsFor(target, 1000)) {
    CHECK(trial.kind != nullptr);
    CHECK(!trial.spec.rows_on_disk());
  }
  target.bytes_per_item = 100;
  const std::vector<IndexTrial> small = TrialsFor(target, 1000);
  REQUIRE(!small.empty());
  for (const IndexTrial& trial : small) {
    CHECK(trial.spec.rows_on_disk());
    CHECK(trial.kind->rows_on_disk(trial.spec));
    CHECK(trial.spec.ivf().code() != "rows");
    CHECK(trial.spec.hnsw().code() != "rows");
  }
  // Each is one that its kind takes.
  for (IndexTrial trial : TrialsFor(IndexTarget(), 1000)) {
    trial.spec.set_kind(trial.kind->name);
    trial.spec.set_seed(1);
    FillIndexSpec(10'000, 256, &trial.spec);
    INFO(ManifestJson(trial.spec));
    CHECK(trial.kind->check(trial.spec, 256).ok());
  }
}

TEST_CASE("what was tried is the same after it was written") {
  TriedIndex tried;
  tried.spec.set_kind("ivf");
  tried.spec.mutable_ivf()->set_list_count(9);
  tried.bytes_per_item = 12.5;
  tried.build_seconds = 3;
  tried.seconds = 0.25;
  tried.verdict = "chosen";
  tried.efforts.emplace_back().set_effort(4);
  const auto read = TriedOf(nlohmann::json::parse(TriedJson(tried).dump()));
  REQUIRE(read.has_value());
  CHECK(ManifestJson(read->spec) == ManifestJson(tried.spec));
  CHECK(read->bytes_per_item == 12.5);
  CHECK(read->build_seconds == 3);
  CHECK(read->seconds == 0.25);
  CHECK(read->verdict == "chosen");
  REQUIRE(read->efforts.size() == 1);
  CHECK(read->efforts[0].effort() == 4);
  for (const char* text : {"[]", "3", "{}", R"({"spec": 3})", R"({"spec": {}, "efforts": 1})",
                           R"({"spec": {}, "efforts": [[]]})"}) {
    CHECK(!TriedOf(nlohmann::json::parse(text)).has_value());
  }
}

}  // namespace
}  // namespace sightline
