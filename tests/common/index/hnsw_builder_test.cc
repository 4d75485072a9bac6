// Graphs as they are built: what is linked, what can be reached, and builds that are ended early.
#include "common/index/hnsw_builder.h"

#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "common/base/files.h"
#include "common/bundle/container.h"
#include "common/index/hnsw_build.h"
#include "common/index/hnsw_file.h"
#include "common/index/hnsw_order.h"
#include "common/log/progress.h"
#include "tests/common/index/kind_harness.h"
#include "tests/support/catch.h"
#include "tests/support/fake_clock.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

constexpr int kDimension = 24;
const CallContext kCall = CallContext::Unbounded();

std::unique_ptr<HnswBuilder> BuilderOf(const VectorView& rows, int link_count = 4) {
  auto builder = HnswBuilder::Create(rows, {link_count, /*build_effort=*/30, /*seed=*/1}, kCall);
  REQUIRE(builder.ok());
  return *std::move(builder);
}

std::vector<uint32_t> LinksOf(const LinkTable& links, uint32_t vertex) {
  const uint32_t* const first = links.of(vertex);
  return {first, std::find(first, first + links.capacity, kNoLink)};
}

// Rows of the base that links lead to from the entry, it too.
int64_t CountReachable(const HnswGraph& graph) {
  std::set<uint32_t> reached = {graph.upper_rows[0]};
  std::vector<uint32_t> open = {graph.upper_rows[0]};
  while (!open.empty()) {
    const uint32_t row = open.back();
    open.pop_back();
    for (const uint32_t to : LinksOf(graph.base(), row)) {
      if (reached.insert(to).second) open.push_back(to);
    }
  }
  return static_cast<int64_t>(reached.size());
}

// That no vertex has a link to itself, a link twice or a link to one that is not linked itself.
void CheckTable(const LinkTable& links, int64_t vertices) {
  for (uint32_t vertex = 0; vertex < vertices; ++vertex) {
    const std::vector<uint32_t> to = LinksOf(links, vertex);
    const std::set<uint32_t> once(to.begin(), to.end());
    REQUIRE(once.size() == to.size());
    REQUIRE(once.count(vertex) == 0);
    for (const uint32_t other : to) {
      REQUIRE(other < vertices);
      REQUIRE(!LinksOf(links, other).empty());
    }
  }
}

TEST_CASE("an order has each row once, follows the seed, and puts some last") {
  const auto none = [](uint32_t) { return false; };
  std::vector<uint32_t> order = HnswOrder(1000, 3, none);
  REQUIRE(HnswOrder(1000, 3, none) == order);
  REQUIRE(HnswOrder(1000, 4, none) != order);
  const std::vector<uint32_t> odd_last = HnswOrder(1000, 3, [](uint32_t row) { return row % 2; });
  REQUIRE(
      std::all_of(odd_last.begin(), odd_last.begin() + 500, [](auto row) { return !(row % 2); }));
  // Neighbors in the order are none by number.
  int64_t near = 0;
  for (size_t i = 1; i < order.size(); ++i) {
    near += std::abs(static_cast<int>(order[i]) - static_cast<int>(order[i - 1])) < 20;
  }
  REQUIRE(near < 100);
  std::sort(order.begin(), order.end());
  for (uint32_t row = 0; row < 1000; ++row) REQUIRE(order[row] == row);
}

TEST_CASE("a shape has levels that shrink by the number of links, and one entry at least") {
  const HnswShape shape = {1000, kDimension, 4, true};
  REQUIRE(shape.LevelCount(1) == 250);
  REQUIRE(shape.LevelCount(2) == 62);
  REQUIRE(shape.LevelCount(4) == 3);
  REQUIRE(shape.LevelCount(5) == 0);
  REQUIRE(shape.top_level() == 4);
  REQUIRE(shape.upper_vertices() == 250 + 62 + 15 + 3);
  REQUIRE(shape.node_bytes() % 64 == 0);
  REQUIRE(HnswShape{3, kDimension, 4, true}.LevelCount(1) == 1);
  REQUIRE(HnswShape{3, kDimension, 4, true}.top_level() == 1);
  REQUIRE(HnswShape{0, kDimension, 4, true}.top_level() == 0);
  REQUIRE(HnswShape{0, kDimension, 4, true}.byte_count() == 0);
}

TEST_CASE("every row is linked on each of its levels, and can be reached") {
  const GappedRows rows(ClusteredRows(3000, kDimension, 1), Dtype::kFloat32);
  const auto builder = BuilderOf(rows.view());
  REQUIRE(builder->linkable() == 3000);
  builder->Link(3000);
  REQUIRE(builder->linked() == 3000);
  builder->ConnectAll();
  const HnswGraph& graph = builder->graph();
  CheckTable(graph.base(), 3000);
  for (int level = 1; level <= graph.shape.top_level(); ++level) {
    if (graph.shape.LevelCount(level) > 1)
      CheckTable(graph.upper(level), graph.shape.LevelCount(level));
  }
  REQUIRE(CountReachable(graph) == 3000);
  REQUIRE(builder->ConnectAll() == 0);
}

TEST_CASE("equal rows by the thousand can be reached, and those that came first lead elsewhere") {
  EmbeddingMatrix values = ClusteredRows(5000, kDimension, 1);
  for (int64_t row = 1000; row < 5000; ++row) {
    std::copy_n(values.row(row < 4000 ? 0 : 1).data(), kDimension, values.mutable_row(row).begin());
  }
  const GappedRows rows(values, Dtype::kFloat32);
  const auto builder = BuilderOf(rows.view());
  builder->Link(5000);
  builder->ConnectAll();
  CheckTable(builder->graph().base(), 5000);
  REQUIRE(CountReachable(builder->graph()) == 5000);
  int64_t lead_elsewhere = 0;
  for (uint32_t row = 1000; row < 4000; ++row) {
    const auto to = LinksOf(builder->graph().base(), row);
    lead_elsewhere += std::any_of(to.begin(), to.end(), [](auto other) {
      return other != 0 && (other < 1000 || other >= 4000);
    });
  }
  REQUIRE(lead_elsewhere > 10);
}

TEST_CASE("nothing but equal rows, and nothing but zeros, can be reached") {
  const float value = GENERATE(1.0f, 0.0f);
  EmbeddingMatrix values(3000, kDimension);
  std::fill_n(values.mutable_data(), 3000 * kDimension, value);
  const GappedRows rows(values, Dtype::kFloat32);
  const auto builder = BuilderOf(rows.view());
  builder->Link(3000);
  builder->ConnectAll();
  REQUIRE(CountReachable(builder->graph()) == 3000);
}

TEST_CASE("rows that are no numbers, or too long, are linked nowhere") {
  EmbeddingMatrix values = ClusteredRows(1000, kDimension, 1);
  for (int64_t row = 0; row < 1000; row += 4) {
    values.mutable_row(row)[3] = row % 8 == 0 ? std::nanf("") : 1e30f;
  }
  const GappedRows rows(values, Dtype::kFloat32);
  const auto builder = BuilderOf(rows.view());
  REQUIRE(builder->linkable() == 750);
  builder->Link(1000);
  REQUIRE(builder->linked() == 750);
  builder->ConnectAll();
  REQUIRE(CountReachable(builder->graph()) == 750);
  for (uint32_t row = 0; row < 1000; ++row) {
    REQUIRE(LinksOf(builder->graph().base(), row).empty() == (row % 4 == 0));
  }
}

// A build in stages that ends, as a process that is killed does, at its n-th look at the call:
// whatever is written later is lost.
struct StagedShard {
  StagedShard() {
    manifest.mutable_index_spec()->set_kind("hnsw");
    auto* const hnsw = manifest.mutable_index_spec()->mutable_hnsw();
    hnsw->set_link_count(4);
    hnsw->set_build_effort(30);
    hnsw->set_code("rows");
    manifest.add_shards();
  }

  absl::StatusOr<std::string> Build(const VectorView& rows, const CallContext& call) {
    IndexBuild build;
    build.directory = directory.path();
    build.manifest = &manifest;
    build.vectors = rows;
    build.work_directory = work.path();
    build.call = &call;
    build.progress = progress;
    const auto files = BuildHnswInStages(build, /*rows_between_stages=*/200);
    if (!files.ok()) return files.status();
    return ReadFile(directory.File((*files)[0].path()));
  }

  std::string stage() const { return work.File("hnsw"); }

  TempDir directory, work;
  bundle::v1::GenerationManifest manifest;
  Progress* progress = nullptr;
};

class CountingClock : public FakeClock {
 public:
  explicit CountingClock(int looks) : looks_left_(looks) {}
  absl::Time Now() override {
    return --looks_left_ < 0 ? absl::InfiniteFuture() : absl::UnixEpoch();
  }

 private:
  int looks_left_;
};

TEST_CASE("a build goes on from its last stage, and from none that is damaged or another's") {
  const GappedRows rows(ClusteredRows(1500, kDimension, 1), Dtype::kFloat32);
  StagedShard whole;
  const std::string content = *whole.Build(rows.view(), kCall);

  StagedShard shard;
  int ended = 0;
  for (int looks = 8;; looks += 4) {
    CountingClock clock(looks);
    const auto built =
        shard.Build(rows.view(), CallContext(&clock, absl::UnixEpoch() + absl::Seconds(1)));
    if (built.ok()) {
      REQUIRE(*built == content);
      break;
    }
    REQUIRE(absl::IsDeadlineExceeded(built.status()));
    ++ended;
  }
  REQUIRE(ended > 2);
  REQUIRE(FileExists(shard.stage()));

  // One that has linked all is gone on from as well.
  REQUIRE(*shard.Build(rows.view(), kCall) == content);
  const GappedRows others(ClusteredRows(1500, kDimension, 2), Dtype::kFloat32);
  StagedShard other;
  const std::string other_content = *other.Build(others.view(), kCall);
  REQUIRE(*shard.Build(others.view(), kCall) == other_content);
  shard.manifest.mutable_index_spec()->set_seed(3);
  other.manifest.mutable_index_spec()->set_seed(3);
  REQUIRE(*shard.Build(others.view(), kCall) == *other.Build(others.view(), kCall));

  std::string damaged = *ReadFile(shard.stage());
  damaged[5000] ^= 1;
  REQUIRE(WriteFileAtomically(shard.stage(), damaged).ok());
  shard.manifest.mutable_index_spec()->set_seed(0);
  REQUIRE(*shard.Build(rows.view(), kCall) == content);
}

TEST_CASE(
    "each row counts once in the phase that shards share, linked or not, gone on with or not") {
  EmbeddingMatrix values = ClusteredRows(1500, kDimension, 1);
  for (int64_t row = 0; row < 100; ++row) values.mutable_row(row)[3] = std::nanf("");
  const GappedRows rows(values, Dtype::kFloat32);
  FakeClock clock;
  std::string drawn;
  Progress::Options options;
  options.terminal = true;
  options.write = [&drawn](absl::string_view text) { drawn.append(text.data(), text.size()); };
  Progress progress(options, &clock);
  StagedShard first, second;
  REQUIRE(first.Build(rows.view(), kCall).ok());
  first.progress = second.progress = &progress;
  progress.Begin("build index", "rows", 2 * 1500);
  REQUIRE(first.Build(rows.view(), kCall).ok());
  REQUIRE(second.Build(rows.view(), kCall).ok());
  progress.End();
  REQUIRE(absl::StrContains(drawn, "build index 3000/3000 rows"));
}

TEST_CASE("a stage is less than the whole, and is taken over") {
  const GappedRows rows(ClusteredRows(1500, kDimension, 1), Dtype::kFloat32);
  const auto builder = BuilderOf(rows.view()), whole = BuilderOf(rows.view());
  builder->Link(700);
  TempDir folder;
  const HnswStage stage = {builder->digest(), builder->linked()};
  REQUIRE(WriteHnswGraph(folder.File("stage"), builder->graph(), false, &stage).ok());

  const GappedRows others(ClusteredRows(1500, kDimension, 2), Dtype::kFloat32);
  REQUIRE(absl::IsNotFound(BuilderOf(others.view())->Restore(folder.File("stage"), kCall)));

  const auto next = BuilderOf(rows.view());
  REQUIRE(next->Restore(folder.File("stage"), kCall).ok());
  REQUIRE(next->linked() == 700);
  next->Link(1500);
  whole->Link(1500);
  for (uint32_t row = 0; row < 1500; ++row) {
    REQUIRE(LinksOf(next->graph().base(), row) == LinksOf(whole->graph().base(), row));
  }
}

TEST_CASE("a stage whose last links are damaged leaves nothing linked") {
  const GappedRows rows(ClusteredRows(1500, kDimension, 1), Dtype::kFloat32);
  const auto builder = BuilderOf(rows.view());
  builder->Link(1500);
  TempDir folder;
  const HnswStage stage = {builder->digest(), builder->linked()};
  REQUIRE(WriteHnswGraph(folder.File("stage"), builder->graph(), false, &stage).ok());
  std::string damaged = *ReadFile(folder.File("stage"));
  const auto container = *Container::FromBytes(damaged);
  damaged[static_cast<size_t>(container->Find("upper_links")->offset)] ^= 1;
  REQUIRE(WriteFileAtomically(folder.File("stage"), damaged).ok());
  REQUIRE(absl::IsDataLoss(builder->Restore(folder.File("stage"), kCall)));
  REQUIRE(builder->linked() == 0);
  for (uint32_t row = 0; row < 1500; ++row) {
    REQUIRE(LinksOf(builder->graph().base(), row).empty());
  }
}

// The most that was resident since the process began.
int64_t MostResidentBytes() {
  rusage usage = {};
  REQUIRE(getrusage(RUSAGE_SELF, &usage) == 0);
  return int64_t{usage.ru_maxrss} * 1024;
}

TEST_CASE("a stage is taken over without a second copy of the links") {
  constexpr int64_t kRows = 50000;
  constexpr int kLinkCount = 128;  // 50 MB of links
  const GappedRows rows(ClusteredRows(kRows, kDimension, 1), Dtype::kFloat32);
  const auto builder = BuilderOf(rows.view(), kLinkCount);
  builder->Link(10);
  TempDir folder;
  const HnswStage stage = {builder->digest(), builder->linked()};
  REQUIRE(WriteHnswGraph(folder.File("stage"), builder->graph(), false, &stage).ok());
  const int64_t before = MostResidentBytes();
  REQUIRE(builder->Restore(folder.File("stage"), kCall).ok());
  REQUIRE(MostResidentBytes() - before < kRows * 2 * kLinkCount * int64_t{sizeof(uint32_t)} / 4);
}

}  // namespace
}  // namespace sightline
