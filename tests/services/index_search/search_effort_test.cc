// What requests ask of an index that is not exact: filters, efforts, recalls, budgets.
#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "common/base/error_details.h"
#include "common/base/files.h"
#include "common/base/limits.h"
#include "common/base/random_access_file.h"
#include "common/bundle/shard_writer.h"
#include "common/index/shard_view.h"
#include "common/metrics/metrics.h"
#include "services/index_search/search_engine.h"
#include "tests/common/bundle/container_surgery.h"
#include "tests/common/bundle/manifests.h"
#include "tests/services/index_search/approximate_index.h"
#include "tests/support/await.h"
#include "tests/support/catch.h"
#include "tests/support/failing_reads.h"
#include "tests/support/fake_clock.h"
#include "tests/support/gate.h"
#include "tests/support/ready_generation.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

constexpr int kItems = 200;
constexpr int kDimension = 4;

using Found = absl::StatusOr<SearchShardResponse>;
using Asked = std::tuple<int64_t, int, int, int64_t>;

// Item i has tags "half" or "rest", "few" if i < 3, and "tens" for each tenth.
std::vector<std::string> TagsOf(int i) {
  std::vector<std::string> tags = {i % 2 == 0 ? "half" : "rest"};
  if (i < 3) tags.push_back("few");
  if (i % 10 == 0) tags.push_back("tens");
  return tags;
}

std::string IdOf(int i) {
  const std::string number = std::to_string(i);
  return std::string(4 - number.size(), '0') + number;
}

// One shard of a generation whose efforts were measured as 10: 0.5, 20: 0.9, 40: 0.99.
struct Rig {
  explicit Rig(EmbeddingPlace place = EmbeddingPlace::kMemory, bool measured = true,
               ComputePool* pool = nullptr) {
    std::mt19937 random(1);
    std::vector<EncodedItem> items(kItems);
    for (int i = 0; i < kItems; ++i) {
      items[i].record.item_id = IdOf(i);
      items[i].record.tags = TagsOf(i);
      for (int k = 0; k < kDimension; ++k) {
        items[i].embedding.push_back(static_cast<float>(random() % 1000) / 1000);
      }
    }
    manifest = SoundGenerationManifest();
    manifest.mutable_embedding()->set_dimension(kDimension);
    bundle::v1::ShardManifest written = *WriteShard(dir.path(), 0, 1, kDimension, {}, items);
    if (measured) {
      for (const auto& [effort, recall] :
           std::vector<std::pair<int, double>>{{10, 0.5}, {20, 0.9}, {40, 0.99}}) {
        bundle::v1::EffortPoint* const point = written.add_efforts();
        point->set_effort(effort);
        point->set_recall_at_10(recall);
        point->set_recall_at_100(recall / 2);
        point->set_seconds(effort / 1000.0);
      }
    }
    path = dir.File(written.vectors().path());
    auto shard = std::make_shared<SearchableShard>();
    shard->vectors = *ShardVectors::Open(path, written, kDimension);
    REQUIRE(shard->vectors->Load(CallContext::Unbounded(), place).ok());
    shard->tags = *TagPostings::Build(*shard->vectors, CallContext::Unbounded());
    auto made = std::make_unique<ApproximateIndex>(ViewOf(*shard->vectors), [this] {
      clock.Advance(takes);
      if (hold) {
        entered.Open();
        release.Wait();
      }
    });
    index = made.get();
    shard->index = std::move(made);
    shard->efforts = EffortCurve(written);
    shard->default_recall = 0.9;
    auto generation = std::make_shared<SearchGeneration>();
    generation->shards[0] = shard;
    PutReady<SearchGeneration>(&generations, manifest, generation);
    generations.table()->SetComplete();
    SearchEngineOptions options;
    options.metrics = SearchMetrics::Make(&metrics);
    options.pool = pool;
    engine = std::make_unique<SearchEngine>(options, &generations, &clock);
  }
  ~Rig() { release.Open(); }

  SearchShardRequest Request(int top_k = 5, int queries = 1) const {
    SearchShardRequest request;
    request.target = {manifest.index(), manifest.generation(), manifest.embedding().space()};
    request.top_k = top_k;
    request.queries = EmbeddingMatrix(queries, kDimension);
    for (int i = 0; i < queries; ++i) request.queries.mutable_row(i)[i % kDimension] = 1;
    return request;
  }
  Found Search(const SearchShardRequest& request) {
    return engine->SearchShard(request, CallContext(&clock, clock.Now() + absl::Seconds(1000)));
  }
  std::unique_ptr<Background<Found>> Start(const SearchShardRequest& request) {
    return std::make_unique<Background<Found>>([this, request] { return Search(request); });
  }
  std::vector<Asked> asked() const {
    std::vector<Asked> all;
    for (const ApproximateIndex::Asked& asked : index->asked()) {
      all.emplace_back(asked.queries, asked.top_k, asked.effort, asked.among);
    }
    return all;
  }
  bool Exports(const std::string& line) const {
    INFO(metrics.Render());
    return metrics.Render().find("sightline_" + line + "\n") != std::string::npos;
  }

  TempDir dir;
  MetricsRegistry metrics;
  FakeClock clock;
  absl::Duration takes;  // each search
  bool hold = false;
  Gate entered, release;
  bundle::v1::GenerationManifest manifest;
  std::string path;
  const ApproximateIndex* index = nullptr;
  GenerationRegistry<SearchGeneration> generations{Clock::Real()};
  std::unique_ptr<SearchEngine> engine;
};

std::string Text(const Found& found) {
  if (!found.ok()) return found.status().ToString();
  std::string text;
  for (const auto& row : found->candidates) {
    for (const Candidate& candidate : row) {
      text += candidate.item_id + "=" + std::to_string(candidate.score) + " ";
    }
    text += "/ ";
  }
  return text;
}

TEST_CASE("a search that asks for nothing gets the generation's own recall, and is told which") {
  Rig rig;
  const Found found = rig.Search(rig.Request());
  REQUIRE(found.ok());
  CHECK(rig.asked() == std::vector<Asked>{{1, 5, 20, -1}});
  CHECK_FALSE(found->effort.exact);
  CHECK(found->effort.effort == 20);
  CHECK(found->effort.recall == Approx(0.9));
  CHECK_FALSE(found->effort.reduced);
  CHECK(found->matched_count == kItems);
  CHECK(rig.Exports("shard_searches_total{exactness=\"approximate\"} 1"));
  CHECK(rig.Exports("shard_searches_total{exactness=\"exact\"} 0"));
  CHECK(rig.Exports("index_search_effort_sum 20"));
  CHECK(rig.Exports("index_reduced_searches_total 0"));
  CHECK(rig.Exports("index_filtered_searches_total 0"));
}

TEST_CASE("a recall is turned into the least effort that was measured to find it") {
  Rig rig;
  const auto effort_for = [&](float recall, int top_k) {
    SearchShardRequest request = rig.Request(top_k);
    request.effort.recall = recall;
    const Found found = rig.Search(request);
    REQUIRE(found.ok());
    return found->effort.effort;
  };
  CHECK(effort_for(0.1f, 10) == 10);
  CHECK(effort_for(0.5f, 10) == 10);
  CHECK(effort_for(0.7f, 10) == 15);
  CHECK(effort_for(0.999f, 10) == 40);  // the most that was measured
  CHECK(effort_for(1.0f, 10) == 0);     // everything, and so exact
  CHECK(effort_for(0.4f, 100) == 18);   // half is found among a hundred
}

TEST_CASE("an effort is done as asked, and one beyond all rows is exact") {
  Rig rig;
  SearchShardRequest request = rig.Request();
  request.effort.effort = 7;
  Found found = rig.Search(request);
  REQUIRE(found.ok());
  CHECK(found->effort.effort == 7);
  CHECK(found->effort.recall == Approx(0.35));  // 7 of the 10 that find half
  request.effort.effort = limits::kMaxEffort;
  found = rig.Search(request);
  REQUIRE(found.ok());
  CHECK(found->effort.exact);
  CHECK(found->effort.recall == 1);
  CHECK(found->effort.effort == 0);
}

TEST_CASE("where nothing was measured, the recall is told as not known") {
  Rig rig(EmbeddingPlace::kMemory, /*measured=*/false);
  SearchShardRequest request = rig.Request();
  request.budget = absl::Nanoseconds(1);
  const Found found = rig.Search(request);
  REQUIRE(found.ok());
  CHECK(found->effort.effort == kDefaultEffort);
  CHECK(found->effort.recall == 0);
  CHECK_FALSE(found->effort.reduced);
}

TEST_CASE("efforts, recalls and filters out of their bounds are refused by name") {
  Rig rig;
  const auto refused = [&](const std::function<void(SearchShardRequest&)>& change) {
    SearchShardRequest request = rig.Request();
    change(request);
    const absl::Status status = rig.Search(request).status();
    INFO(status);
    REQUIRE(absl::IsInvalidArgument(status));
    return GetFields(status);
  };
  const std::vector<std::string> effort = {"effort"}, filter = {"filter"};
  for (const float recall : {0.0f, -1.0f, 1.01f, std::nanf("")}) {
    CHECK(refused([&](auto& r) { r.effort.recall = recall; }) == effort);
  }
  for (const int wanted : {0, -1, limits::kMaxEffort + 1}) {
    CHECK(refused([&](auto& r) { r.effort.effort = wanted; }) == effort);
  }
  CHECK(refused([](auto& r) { r.filter.any = {"a", ""}; }) == filter);
  CHECK(refused([](auto& r) { r.filter.none = {std::string(1025, 'x')}; }) == filter);
  CHECK(refused([](auto& r) {
          r.filter.any.assign(30, "a");
          r.filter.all.assign(30, "b");
          r.filter.none.assign(5, "c");
        }) == filter);
  CHECK(rig.asked().empty());
}

TEST_CASE("a filter's items are counted, and no others are found") {
  Rig rig;
  SearchShardRequest request = rig.Request(1000);
  request.effort.effort = 150;
  request.filter.any = {"tens"};
  request.filter.none = {"few"};
  const Found found = rig.Search(request);
  REQUIRE(found.ok());
  CHECK(found->matched_count == 19);
  REQUIRE(found->candidates[0].size() == 19);
  for (const Candidate& candidate : found->candidates[0]) {
    const std::vector<std::string> tags = TagsOf(static_cast<int>(candidate.row));
    CHECK(std::count(tags.begin(), tags.end(), "tens") == 1);
    CHECK(std::count(tags.begin(), tags.end(), "few") == 0);
  }
  CHECK(rig.Exports("index_filtered_searches_total 1"));
  CHECK(rig.Exports("index_matched_share_sum 0.095"));
}

TEST_CASE("a broad filter is searched at the effort, a narrow one exactly") {
  Rig rig;
  SearchShardRequest request = rig.Request();
  request.filter.all = {"half"};
  Found found = rig.Search(request);
  REQUIRE(found.ok());
  CHECK(found->matched_count == kItems / 2);
  CHECK_FALSE(found->effort.exact);
  CHECK(found->effort.effort == 20);
  request.filter.all = {"few"};
  request.budget = absl::ZeroDuration();  // there is nothing to be lowered
  found = rig.Search(request);
  REQUIRE(found.ok());
  CHECK(found->matched_count == 3);
  CHECK(found->effort.exact);
  CHECK_FALSE(found->effort.reduced);
  CHECK(found->candidates[0].size() == 3);
}

TEST_CASE("a filter that lets nothing through is answered without a search") {
  Rig rig;
  SearchShardRequest request = rig.Request(5, /*queries=*/3);
  request.filter.all = {"half", "rest"};
  const Found found = rig.Search(request);
  REQUIRE(found.ok());
  CHECK(found->matched_count == 0);
  CHECK(found->effort.exact);
  REQUIRE(found->candidates.size() == 3);
  for (const std::vector<Candidate>& row : found->candidates) CHECK(row.empty());
  CHECK(rig.asked().empty());
}

TEST_CASE("a budget lowers the effort to what fits, but not below the least, and says so") {
  Rig rig;
  const auto search = [&](absl::Duration budget, int queries = 1) {
    SearchShardRequest request = rig.Request(5, queries);
    request.budget = budget + SearchPace::kHandingOver;
    const Found found = rig.Search(request);
    REQUIRE(found.ok());
    return std::make_pair(found->effort.effort, found->effort.reduced);
  };
  CHECK(search(absl::InfiniteDuration()) == std::make_pair(20, false));
  CHECK(search(absl::Milliseconds(20)) == std::make_pair(20, false));
  CHECK(search(absl::Microseconds(15'100)) == std::make_pair(15, true));
  CHECK(search(absl::Milliseconds(1)) == std::make_pair(10, true));
  CHECK(search(-absl::Seconds(1)) == std::make_pair(10, true));
  CHECK(search(absl::Microseconds(30'200), /*queries=*/2) == std::make_pair(15, true));
  CHECK(rig.Exports("index_reduced_searches_total 4"));
  // Less than the least is what was asked.
  SearchShardRequest request = rig.Request();
  request.effort.effort = 3;
  request.budget = absl::Nanoseconds(1);
  const Found found = rig.Search(request);
  CHECK(found->effort.effort == 3);
  CHECK_FALSE(found->effort.reduced);
}

TEST_CASE("an effort beyond all that was measured is searched where there is time for it") {
  Rig rig;
  SearchShardRequest request = rig.Request();
  request.effort.effort = limits::kMaxEffort;
  // As many milliseconds as rows, by the last of the points.
  request.budget = absl::Milliseconds(kItems + 1);
  Found found = rig.Search(request);
  REQUIRE(found.ok());
  CHECK(found->effort.exact);
  CHECK_FALSE(found->effort.reduced);
  request.budget = absl::Milliseconds(kItems / 2) + SearchPace::kHandingOver;
  found = rig.Search(request);
  REQUIRE(found.ok());
  CHECK_FALSE(found->effort.exact);
  CHECK(found->effort.effort == kItems / 2);
  CHECK(found->effort.reduced);
}

TEST_CASE("a filter that makes a search look at more is counted where time is short") {
  Rig rig;
  SearchShardRequest request = rig.Request();
  request.filter.all = {"half"};
  request.budget = absl::Milliseconds(40) + SearchPace::kHandingOver;
  CHECK_FALSE(rig.Search(request)->effort.reduced);
  request.budget = absl::Microseconds(30'100) + SearchPace::kHandingOver;
  const Found found = rig.Search(request);
  REQUIRE(found.ok());
  CHECK(found->effort.effort == 15);
  CHECK(found->effort.reduced);
}

TEST_CASE("what searches take here is learnt, and forgotten when they are faster again") {
  Rig rig;
  SearchShardRequest request = rig.Request();
  const auto effort = [&] {
    request.budget = absl::Milliseconds(20) + SearchPace::kHandingOver;
    const Found found = rig.Search(request);
    request.budget = absl::InfiniteDuration();
    return found->effort.effort;
  };
  const auto takes = [&](absl::Duration time) { rig.takes = time + SearchPace::kHandingOver; };
  takes(absl::Milliseconds(20));
  CHECK(effort() == 20);
  takes(absl::Milliseconds(40));  // twice what was promised
  for (int i = 0; i < 60; ++i) REQUIRE(rig.Search(request).ok());
  CHECK(effort() == 10);
  takes(absl::Milliseconds(20));
  for (int i = 0; i < 60; ++i) REQUIRE(rig.Search(request).ok());
  CHECK(effort() == Approx(20).margin(1));
  // A single hiccup is not believed.
  takes(absl::Seconds(2));
  REQUIRE(rig.Search(request).ok());
  takes(absl::Milliseconds(20));
  CHECK(effort() > 10);
  // Searches that are exact tell nothing of efforts, and neither do those that take no time.
  const int before = effort();
  request.effort.effort = limits::kMaxEffort;
  for (int i = 0; i < 60; ++i) REQUIRE(rig.Search(request).ok());
  request.effort.effort.reset();
  rig.takes = SearchPace::kHandingOver / 2;
  for (int i = 0; i < 60; ++i) REQUIRE(rig.Search(request).ok());
  CHECK(effort() == before);
}

TEST_CASE("what a request finds is the same alone and in any company") {
  ComputePool pool(2);
  Rig alone, together(EmbeddingPlace::kMemory, true,
                      GENERATE_REF(static_cast<ComputePool*>(nullptr), &pool));
  std::vector<SearchShardRequest> requests;
  for (const int top_k : {3, 5, 5}) {
    for (const int effort : {20, 30}) {
      for (const char* tag : {"", "half", "tens", "few"}) {
        SearchShardRequest request = alone.Request(top_k, 1 + top_k % 2);
        request.effort.effort = effort;
        if (*tag != '\0') request.filter.any = {tag};
        requests.push_back(request);
      }
    }
  }
  std::vector<std::string> expected;
  for (const SearchShardRequest& request : requests)
    expected.push_back(Text(alone.Search(request)));
  together.hold = true;
  auto first = together.Start(alone.Request());
  together.entered.Wait();
  std::vector<std::unique_ptr<Background<Found>>> waiting;
  for (const SearchShardRequest& request : requests) waiting.push_back(together.Start(request));
  AwaitUntil([&] {
    return together.engine->stats().queued_tasks == static_cast<int64_t>(requests.size());
  });
  together.release.Open();
  for (size_t i = 0; i < requests.size(); ++i) {
    INFO(i);
    CHECK(Text(waiting[i]->Get()) == expected[i]);
  }
  REQUIRE(first->Get().ok());
  // Those that ask alike were one search: four of two efforts and two depths, and one for each
  // filter of each of the others, after the first.
  CHECK(together.asked().size() == 1 + 4 + 18);
}

TEST_CASE(
    "rows on a disk that cannot be read, or are damaged, take the generation out of service") {
  Rig rig(EmbeddingPlace::kDisk);
  REQUIRE(rig.Search(rig.Request()).ok());
  const auto held = [&] {
    return rig.generations.Find(rig.manifest.index(), rig.manifest.generation(),
                                rig.manifest.embedding().space());
  };
  SECTION("a search that cannot be read for") {
    const FailingReads failing({rig.path, EIO});
    CHECK(IsFailedRead(rig.Search(rig.Request()).status()));
    CHECK_FALSE(held().ok());
  }
  SECTION("a search over damage") {
    std::string bytes = *ReadFile(rig.path);
    CorruptInPlace(rig.path,
                   static_cast<int64_t>(RepairChecksums(&bytes, "embeddings").offset + 64 * 3));
    const absl::Status status = rig.Search(rig.Request()).status();
    CHECK(absl::IsDataLoss(status));
    CHECK(HasReason(status, reasons::kChecksumMismatch));
    CHECK_FALSE(held().ok());
  }
  SECTION("a fetched embedding") {
    const FailingReads failing({rig.path, EIO});
    const SearchShardRequest request = rig.Request();
    FetchItemsRequest fetch{request.target, 0, {"0007"}, {}, /*want_embeddings=*/false};
    const CallContext call(&rig.clock, absl::InfiniteFuture());
    CHECK(rig.engine->FetchItems(fetch, call).ok());
    CHECK(held().ok());
    fetch.want_embeddings = true;
    CHECK(IsFailedRead(rig.engine->FetchItems(fetch, call).status()));
    CHECK_FALSE(held().ok());
  }
}

TEST_CASE(
    "a search is brief by what its effort promises at the pace of late, or by what is scored") {
  Rig rig;
  const auto search_often = [](Rig& searched, absl::Duration takes) {
    searched.takes = takes;
    for (int i = 0; i < 60; ++i) REQUIRE(searched.Search(searched.Request()).ok());
  };
  CHECK_FALSE(rig.engine->IsBrief(rig.Request()));  // 20 ms are promised
  search_often(rig, absl::Microseconds(250));
  CHECK(rig.engine->IsBrief(rig.Request()));
  CHECK(rig.engine->IsBrief(rig.Request(512)));
  CHECK_FALSE(rig.engine->IsBrief(rig.Request(513)));
  CHECK(rig.engine->IsBrief(rig.Request(5, 4)));
  CHECK_FALSE(rig.engine->IsBrief(rig.Request(5, 40)));
  SearchShardRequest request = rig.Request();
  request.effort.effort = kItems;  // and so exact
  CHECK(rig.engine->IsBrief(request));
  request.filter.any = {"few"};
  CHECK_FALSE(rig.engine->IsBrief(request));
  request = rig.Request();
  request.target.generation += "-of-others";  // a refusal is brief
  CHECK(rig.engine->IsBrief(request));
  request = rig.Request(0);  // another refusal
  CHECK(rig.engine->IsBrief(request));
  search_often(rig, absl::Milliseconds(30));
  CHECK_FALSE(rig.engine->IsBrief(rig.Request()));

  Rig disk(EmbeddingPlace::kDisk);
  search_often(disk, absl::Microseconds(250));
  CHECK_FALSE(disk.engine->IsBrief(disk.Request()));
}

TEST_CASE("rows on a disk are found and fetched as those in memory") {
  Rig memory, disk(EmbeddingPlace::kDisk);
  const SearchShardRequest request = memory.Request(20, 4);
  CHECK(Text(disk.Search(request)) == Text(memory.Search(request)));
  const auto fetch = [&](Rig& rig) {
    return rig.engine
        ->FetchItems({request.target, 0, {}, {5, 199}, true},
                     CallContext(&rig.clock, absl::InfiniteFuture()))
        ->items[1]
        ->embedding;
  };
  CHECK(fetch(disk) == fetch(memory));
  CHECK(fetch(disk).size() == kDimension);
}

}  // namespace
}  // namespace sightline
