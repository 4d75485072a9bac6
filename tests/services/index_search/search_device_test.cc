// A server whose indexes are on devices, which here are the host: what it holds, what it refuses,
// and what it does when a device fails.
#include "services/index_search/search_devices.h"

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "common/base/error_details.h"
#include "common/base/files.h"
#include "common/base/mutex.h"
#include "common/bundle/generation.h"
#include "common/bundle/shard_writer.h"
#include "common/index/index_kinds.h"
#include "common/index/shard_rows.h"
#include "services/index_search/search_engine.h"
#include "services/index_search/search_host.h"
#include "services/index_search/shard_footprint.h"
#include "tests/common/bundle/items.h"
#include "tests/common/index/host_scan_devices.h"
#include "tests/support/await.h"
#include "tests/support/catch.h"
#include "tests/support/gate.h"
#include "tests/support/ready_generation.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

using Catch::Contains;
using Manifest = GenerationHost::Manifest;

const CallContext kCall = CallContext::Unbounded();
constexpr int kItems = 40;

std::string ReasonOf(const absl::Status& status) {
  const auto reason = GetReason(status);
  return reason.has_value() ? reason->reason : status.ToString();
}

// Lists of a shard, of a dozen rows each.
constexpr int kLists = 4;

// Makes inverted files of all shards of a generation.
void BuildLists(const std::string& store, ComputePool* pool, Manifest* manifest) {
  bundle::v1::IndexSpec* const spec = manifest->mutable_index_spec();
  spec->set_kind("ivf");
  spec->mutable_ivf()->set_list_count(kLists);
  spec->mutable_ivf()->set_code("int8");
  spec->mutable_ivf()->set_refine(1);
  const std::string directory =
      GenerationDirectory(store, manifest->index(), manifest->generation());
  for (int shard = 0; shard < manifest->shards_size(); ++shard) {
    const auto rows = ShardRows::Open(directory, *manifest, shard, RowPlace::kMemory, kCall);
    REQUIRE(rows.ok());
    const TempDir work;
    IndexBuild build;
    build.directory = directory;
    build.manifest = manifest;
    build.shard = shard;
    build.vectors = (*rows)->view();
    build.work_directory = work.path();
    build.pool = pool;
    build.call = &kCall;
    const auto files = (*IndexKindOf(*manifest))->build(build);
    REQUIRE(files.ok());
    *manifest->mutable_shards(shard)->add_index_files() = files->front();
  }
}

// A generation of three shards, and two devices for it.
struct Rig {
  explicit Rig(SearchHostOptions wanted = {}, bool required = false) : options(std::move(wanted)) {
    manifest = *WriteTestGeneration(store.path(), "g1", kItems, 3, /*with_features=*/false);
    options.store = store.path();
    SearchDeviceOptions of_devices;
    of_devices.devices = machine;
    of_devices.numbers = {1, 0};
    of_devices.required = required;
    devices = std::make_unique<SearchDevices>(of_devices, &metrics);
    host = std::make_unique<SearchHost>(options, &pool, &janitor, devices.get());
    cpu = std::make_unique<SearchHost>(options, &pool, &janitor, &no_devices);
  }

  // From now on it has inverted files.
  void HaveLists() { BuildLists(store.path(), &pool, &manifest); }

  std::shared_ptr<const SearchGeneration> Hold(SearchHost* of) {
    REQUIRE(of->Check(manifest).ok());
    auto loaded = of->Load(manifest, /*verified=*/false, kCall);
    REQUIRE(loaded.ok());
    return std::static_pointer_cast<const SearchGeneration>(loaded->held);
  }
  std::vector<device::DeviceFootprint> Told(std::vector<const Manifest*> of) const {
    auto told = host->DeviceFootprints(of);
    REQUIRE(told.ok());
    return *std::move(told);
  }

  static constexpr int64_t kMemory = 8 << 20;
  TempDir store;
  Manifest manifest;
  SearchHostOptions options;
  MetricsRegistry metrics;
  ComputePool pool{2};
  Janitor janitor;
  const std::shared_ptr<const HostScanDevices> machine =
      std::make_shared<HostScanDevices>(std::vector<int64_t>{kMemory, kMemory});
  SearchDevices no_devices{{}, nullptr};
  std::unique_ptr<SearchDevices> devices;
  std::unique_ptr<SearchHost> host, cpu;
};

std::vector<Neighbor> Best(const SearchableShard& shard, int top_k, int effort = kLists) {
  EmbeddingMatrix query(1, kTestDimension);
  for (int i = 0; i < kTestDimension; ++i) query.mutable_row(0)[i] = 0.5f - 0.3f * i;
  SearchOptions options;
  options.top_k = top_k;
  options.effort = effort;
  auto lists = shard.index->Search(query, options, kCall);
  REQUIRE(lists.ok());
  return std::move((*lists)[0]);
}

void CheckSameLists(const SearchGeneration& one, const SearchGeneration& other) {
  REQUIRE(one.shards.size() == other.shards.size());
  for (const auto& [number, shard] : one.shards) {
    const auto expected = Best(*other.shards.at(number), 7);
    const auto found = Best(*shard, 7);
    REQUIRE(found.size() == expected.size());
    for (size_t i = 0; i < found.size(); ++i) {
      CHECK(found[i].row == expected[i].row);
      CHECK(found[i].score == expected[i].score);
    }
  }
}

TEST_CASE("shards go to the devices by turns, and find what those on a CPU find") {
  Rig rig;
  const auto held = rig.Hold(rig.host.get());
  CHECK(held->shards.at(0)->device == 1);
  CHECK(held->shards.at(1)->device == 0);
  CHECK(held->shards.at(2)->device == 1);
  const auto on_cpu = rig.Hold(rig.cpu.get());
  CHECK_FALSE(on_cpu->shards.at(0)->device.has_value());
  CheckSameLists(*held, *on_cpu);
}

TEST_CASE("a server of some shards has them on all of its devices") {
  SearchHostOptions some;
  some.shards = {0, 2};
  Rig rig(some);
  const auto held = rig.Hold(rig.host.get());
  CHECK(held->shards.at(0)->device == 1);
  CHECK(held->shards.at(2)->device == 0);
}

TEST_CASE("inverted files are on devices, and all effort finds there what it finds on a CPU") {
  Rig rig({}, /*required=*/true);
  rig.HaveLists();
  const auto held = rig.Hold(rig.host.get());
  CHECK(held->shards.at(0)->device == 1);
  CHECK(held->shards.at(1)->device == 0);
  const auto on_cpu = rig.Hold(rig.cpu.get());
  CHECK_FALSE(on_cpu->shards.at(0)->device.has_value());
  CheckSameLists(*held, *on_cpu);
  for (const auto& [number, shard] : held->shards) {
    // Of one list every row is scored, and a CPU scores the best by their codes.
    const auto found = Best(*shard, 3, /*effort=*/1);
    const auto on_cpu_found = Best(*on_cpu->shards.at(number), 3, /*effort=*/1);
    REQUIRE(found.size() == on_cpu_found.size());
    for (size_t i = 0; i < found.size(); ++i) CHECK(found[i].score >= on_cpu_found[i].score);
  }
}

TEST_CASE("an inverted file that is not the shard's is refused, and nothing is held of a device") {
  Rig rig;
  rig.HaveLists();
  const std::string path = JoinPath(GenerationDirectory(rig.store.path(), "images", "g1"),
                                    rig.manifest.shards(0).index_files(0).path());
  REQUIRE(WriteFileAtomically(path, "none").ok());
  CHECK(absl::IsDataLoss(rig.host->Load(rig.manifest, false, kCall).status()));
  CHECK(rig.devices->Describe()[1].held_bytes == 0);
  CHECK(rig.machine->device(1).free_bytes() == Rig::kMemory);
}

TEST_CASE("a device without room for lists is told of, and nothing is held of it") {
  Rig rig;
  rig.HaveLists();
  int64_t needed = 0;
  for (const device::DeviceFootprint& each : rig.Told({&rig.manifest})) {
    if (each.device == 1) needed = each.bytes;
  }
  const auto small =
      std::make_shared<HostScanDevices>(std::vector<int64_t>{Rig::kMemory, needed - 1});
  SearchDeviceOptions options;
  options.devices = small;
  options.numbers = {1, 0};
  SearchDevices devices(options, nullptr);
  SearchHost host(rig.options, &rig.pool, &rig.janitor, &devices);
  CHECK(absl::IsResourceExhausted(host.Load(rig.manifest, false, kCall).status()));
  rig.janitor.Flush();
  CHECK(devices.Describe()[1].held_bytes == 0);
  CHECK(small->device(1).free_bytes() == needed - 1);
}

TEST_CASE("what is told of devices is what is held of them, until it is let go") {
  const bool lists = GENERATE(false, true);
  CAPTURE(lists);
  Rig rig;
  if (lists) rig.HaveLists();
  std::map<int, int64_t> told;
  for (const device::DeviceFootprint& each : rig.Told({&rig.manifest})) {
    told[each.device] = each.bytes;
    CHECK(each.limit == Rig::kMemory / 10 * 9);
  }
  CHECK(told.size() == 2);
  CHECK(told[1] > told[0]);
  for (const device::DeviceFootprint& each : rig.Told({&rig.manifest, &rig.manifest})) {
    CHECK(each.bytes == 2 * told[each.device]);
  }
  auto held = rig.Hold(rig.host.get());
  for (const auto& [device, bytes] : told) {
    CHECK(rig.machine->device(device).free_bytes() == Rig::kMemory - bytes);
    const DeviceStatus status = rig.devices->Describe()[device];
    CHECK(status.number == device);
    CHECK(status.name == "Host");
    CHECK(status.memory_bytes == Rig::kMemory);
    CHECK(status.held_bytes == bytes);
    CHECK_THAT(rig.metrics.Render(),
               Contains("sightline_device_held_bytes{device=\"" + std::to_string(device) + "\"} " +
                        std::to_string(bytes) + "\n"));
  }
  const auto work = [&](int device) { return rig.devices->Describe()[device].work; };
  for (const auto& [number, shard] : held->shards) {
    const DeviceWork before = work(*shard->device);
    REQUIRE(!Best(*shard, 7).empty());
    const DeviceWork after = work(*shard->device);
    CHECK(after.pass_count > before.pass_count);
    CHECK(after.took > before.took);
    CHECK(after.bytes_in > before.bytes_in);
    CHECK(after.bytes_out > before.bytes_out);
    CHECK(after.recorded_count == 0);
    const ShardFootprint expected = FootprintOf(
        **IndexKindOf(rig.manifest), GenerationDirectory(rig.store.path(), "images", "g1"),
        rig.manifest, number, {EmbeddingPlace::kMemory, /*on_device=*/true});
    CHECK(TakenBy(*shard).device == expected.device);
    CHECK(TakenBy(*shard).index == expected.index);
  }
  held = nullptr;
  rig.janitor.Flush();
  for (const auto& [device, bytes] : told) {
    CHECK(rig.machine->device(device).free_bytes() == Rig::kMemory);
    CHECK(rig.devices->Describe()[device].held_bytes == 0);
  }
}

TEST_CASE("less of a device than it has may be given") {
  Rig rig;
  SearchDeviceOptions options;
  options.devices = rig.machine;
  options.numbers = {0};
  options.memory_limit = 12345;
  CHECK(*SearchDevices(options, nullptr).Limit(0) == 12345);
}

TEST_CASE("lists, too, may have their rows on the disk") {
  SearchHostOptions disk;
  disk.rows = RowsPlace::kDisk;
  Rig rig(disk);
  rig.HaveLists();
  CheckSameLists(*rig.Hold(rig.host.get()), *rig.Hold(rig.cpu.get()));
}

TEST_CASE("rows that no search reads any more may stay on the disk") {
  SearchHostOptions disk;
  disk.rows = RowsPlace::kDisk;
  Rig rig(disk);
  CHECK(ReasonOf(rig.cpu->Check(rig.manifest)) == reasons::kRowsNotOnDisk.name);
  const auto held = rig.Hold(rig.host.get());
  rig.options.rows = RowsPlace::kMemory;
  SearchHost memory(rig.options, &rig.pool, &rig.janitor, &rig.no_devices);
  CheckSameLists(*held, *rig.Hold(&memory));
}

TEST_CASE("a kind that devices have no form of stays on the CPU, or is refused with a reason") {
  for (const bool required : {false, true}) {
    Rig rig({}, required);
    CHECK(rig.host->Check(rig.manifest).ok());
    bundle::v1::IndexSpec* const spec = rig.manifest.mutable_index_spec();
    spec->set_kind("hnsw");
    spec->mutable_hnsw()->set_link_count(16);
    spec->mutable_hnsw()->set_build_effort(100);
    spec->mutable_hnsw()->set_code("rows");
    const absl::Status checked = rig.host->Check(rig.manifest);
    if (required) {
      CHECK(ReasonOf(checked) == reasons::kNotOnDevice.name);
      CHECK_THAT(std::string(checked.message()), Contains("'hnsw'"));
      CHECK_THAT(std::string(checked.message()),
                 Contains("build one of 'flat', 'flat_int8', 'ivf'"));
    } else {
      CHECK(ReasonOf(checked) != reasons::kNotOnDevice.name);
    }
    CHECK(rig.Told({&rig.manifest}).empty());
  }
}

TEST_CASE("rows that float16 has not are refused on a device") {
  Rig rig;
  std::vector<EncodedItem> items = MakeItems(1500, /*with_features=*/false);
  for (EncodedItem& item : items) item.embedding.assign(kTestDimension, 1e6f);
  rig.manifest.clear_shards();
  *rig.manifest.add_shards() = *WriteShard(GenerationDirectory(rig.store.path(), "images", "g1"), 0,
                                           1, kTestDimension, {}, std::move(items));
  const absl::Status refused = rig.host->Load(rig.manifest, false, kCall).status();
  CHECK(ReasonOf(refused) == reasons::kNotOnDevice.name);
  CHECK_THAT(std::string(refused.message()), Contains("1500 of 1500 rows"));
  CHECK(rig.devices->Describe()[1].held_bytes == 0);
}

TEST_CASE("a device that there is not is told of, and nothing is held") {
  Rig rig;
  SearchDeviceOptions options;
  options.devices = rig.machine;
  options.numbers = {5};
  SearchDevices missing(options, nullptr);
  SearchHost host(rig.options, &rig.pool, &rig.janitor, &missing);
  const Manifest* const one = &rig.manifest;
  CHECK(ReasonOf(host.DeviceFootprints(absl::MakeConstSpan(&one, 1)).status()) ==
        reasons::kDeviceFailed.name);
  CHECK(ReasonOf(host.Load(rig.manifest, false, kCall).status()) == reasons::kDeviceFailed.name);
  CHECK(missing.Describe()[0].name.empty());
}

TEST_CASE("a device that worked and is lost is told of after some loads, and once") {
  Rig rig;
  SearchDeviceOptions options;
  options.devices = rig.machine;
  options.numbers = {0};
  std::vector<absl::Status> lost;
  SearchDevices devices(options, nullptr, [&](const absl::Status& why) { lost.push_back(why); });
  SearchHost host(rig.options, &rig.pool, &rig.janitor, &devices);
  const absl::Status failure = MakeError(reasons::kDeviceFailed, "fell off the bus");
  const auto load = [&](const absl::Status& broken) {
    rig.janitor.Flush();  // of what was loaded before
    rig.machine->device(0).Break(broken);
    return host.Load(rig.manifest, false, kCall).status();
  };
  // One that never worked may do so in a moment.
  for (int i = 0; i < 2 * device::LossWatch::kLostAfter; ++i) CHECK(load(failure) == failure);
  CHECK(load(absl::OkStatus()).ok());
  for (int i = 1; i < device::LossWatch::kLostAfter; ++i) CHECK(load(failure) == failure);
  CHECK(load(absl::OkStatus()).ok());  // it was not lost
  for (int i = 1; i < device::LossWatch::kLostAfter; ++i) CHECK(load(failure) == failure);
  CHECK(lost.empty());
  for (int i = 0; i < 3; ++i) CHECK(load(failure) == failure);
  CHECK(lost == std::vector<absl::Status>{failure});
}

// Notes who searches, and lets nobody out before it is told.
class WatchedIndex : public VectorIndex {
 public:
  struct Seen {
    Mutex mutex;
    std::vector<std::pair<std::thread::id, int64_t>> searches GUARDED_BY(mutex);
    int inside GUARDED_BY(mutex) = 0;
    bool met GUARDED_BY(mutex) = false;
    Gate entered, release;
  };
  WatchedIndex(std::unique_ptr<VectorIndex> inner, Seen* seen)
      : inner_(std::move(inner)), seen_(seen) {}

  absl::StatusOr<std::vector<std::vector<Neighbor>>> Search(
      const EmbeddingMatrix& queries, const SearchOptions& options,
      const CallContext& call) const override {
    {
      MutexLock lock(seen_->mutex);
      seen_->searches.push_back({std::this_thread::get_id(), queries.rows()});
      seen_->met = seen_->met || seen_->inside > 0;
      ++seen_->inside;
    }
    seen_->entered.Open();
    seen_->release.Wait();
    auto found = inner_->Search(queries, options, call);
    MutexLock lock(seen_->mutex);
    --seen_->inside;
    return found;
  }
  bool IsExact(const SearchOptions& options) const override { return inner_->IsExact(options); }
  int64_t byte_count() const override { return inner_->byte_count(); }
  int dimension() const override { return inner_->dimension(); }
  int64_t size() const override { return inner_->size(); }

 private:
  const std::unique_ptr<VectorIndex> inner_;
  Seen* const seen_;
};

using Found = absl::StatusOr<SearchShardResponse>;

// An engine over what the rig holds.
struct EngineRig : Rig {
  explicit EngineRig(bool lists = false) {
    if (lists) HaveLists();
    auto held = std::const_pointer_cast<SearchGeneration>(Hold(host.get()));
    for (const auto& [number, shard] : held->shards) {
      auto& open = const_cast<SearchableShard&>(*shard);
      open.index = std::make_unique<WatchedIndex>(std::move(open.index), &seen);
    }
    PutReady<SearchGeneration>(&generations, manifest, std::move(held));
    generations.table()->SetComplete();
    SearchEngineOptions of_engine;
    of_engine.devices = {{0, {}}, {1, {}}};
    of_engine.pool = &pool;
    engine = std::make_unique<SearchEngine>(of_engine, &generations, Clock::Real());
  }
  ~EngineRig() { seen.release.Open(); }

  Found Search(int shard) {
    SearchShardRequest request;
    request.target = {manifest.index(), manifest.generation(), manifest.embedding().space()};
    request.shard = shard;
    request.top_k = 5;
    request.effort.effort = 1;
    request.queries = EmbeddingMatrix(1, kTestDimension);
    request.queries.mutable_row(0)[0] = 1;
    return engine->SearchShard(request, kCall);
  }

  WatchedIndex::Seen seen;
  GenerationRegistry<SearchGeneration> generations{Clock::Real()};
  std::unique_ptr<SearchEngine> engine;
};

TEST_CASE("one thread searches all shards of a device, in batches, and none of them at once") {
  EngineRig rig;
  std::vector<std::unique_ptr<Background<Found>>> searches;
  const auto start = [&](int shard) {
    searches.push_back(
        std::make_unique<Background<Found>>([&rig, shard] { return rig.Search(shard); }));
  };
  start(0);
  rig.seen.entered.Wait();
  for (int i = 0; i < 4; ++i) start(i % 2 == 0 ? 0 : 2);  // both are on device 1
  AwaitUntil([&] { return rig.engine->device_stats(1).queued_tasks == 4; });
  rig.seen.release.Open();
  for (const auto& search : searches) {
    const Found found = search->Get();
    REQUIRE(found.ok());
    CHECK(found->candidates[0].size() == 5);
    CHECK(found->effort.exact);
  }
  MutexLock lock(rig.seen.mutex);
  std::set<std::thread::id> threads;
  std::vector<int64_t> batches;
  for (const auto& [thread, queries] : rig.seen.searches) {
    threads.insert(thread);
    batches.push_back(queries);
  }
  CHECK(threads.size() == 1);
  CHECK_FALSE(rig.seen.met);
  CHECK(batches == std::vector<int64_t>{1, 2, 2});
}

TEST_CASE("what is asked of lists is told as it is done") {
  EngineRig rig(/*lists=*/true);
  rig.seen.release.Open();
  const Found found = rig.Search(0);
  REQUIRE(found.ok());
  CHECK(found->candidates[0].size() == 5);
  CHECK_FALSE(found->effort.exact);
  CHECK(found->effort.effort == 1);
}

TEST_CASE("a device that fails takes the generation out of service, with a reason") {
  const bool lists = GENERATE(false, true);
  CAPTURE(lists);
  EngineRig rig(lists);
  rig.seen.release.Open();
  REQUIRE(rig.Search(0).ok());
  REQUIRE(rig.Search(1).ok());
  rig.machine->device(1).Break(MakeError(reasons::kDeviceFailed, "fell off the bus"));
  const Found failed = rig.Search(0);
  CHECK(absl::IsUnavailable(failed.status()));
  CHECK(ReasonOf(failed.status()) == reasons::kDeviceFailed.name);
  const auto entry = rig.generations.table()->Get("images", "g1");
  CHECK(entry->state == HoldState::kRefused);
  CHECK(entry->failed);
  CHECK(ReasonOf(entry->refusal) == reasons::kDeviceFailed.name);
  // Others are sent to a replica.
  const Found after = rig.Search(1);
  CHECK(ReasonOf(after.status()) == reasons::kGenerationNotHeld.name);
  CHECK_THAT(std::string(after.status().message()), Contains("fell off the bus"));
}

}  // namespace
}  // namespace sightline
