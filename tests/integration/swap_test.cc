// Generations come and go under questions, and nobody notices but that the hits are others.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <set>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/files.h"
#include "common/bundle/generation.h"
#include "common/bundle/publication.h"
#include "common/clients/admin_client.h"
#include "tests/integration/fleet.h"
#include "tests/integration/load.h"
#include "tests/integration/test_launch.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

constexpr int kGenerations = 4;
constexpr char kQuickly[] =
    "generations: {poll_interval: 20ms, restored_after: 200ms, release_after: 1s}\n";

// 200, or what SIGHTLINE_SWAPS says: a soak is as long as somebody has time for.
int Swaps() {
  const char* const asked = std::getenv("SIGHTLINE_SWAPS");
  int swaps = 0;
  return asked != nullptr && absl::SimpleAtoi(asked, &swaps) && swaps > 10 ? swaps : 200;
}

std::string Name(int generation) {
  return absl::StrCat("s", generation % kGenerations);
}

ServerStatus StatusOf(AdminClient& server) {
  const CallContext call(Clock::Real(), Clock::Real()->Now() + absl::Seconds(10));
  const auto status = server.GetStatus(call);
  if (!status.ok()) throw std::runtime_error(status.status().ToString());
  return *status;
}

ServerStatus StatusOf(const std::string& address) {
  return StatusOf(*MakeGrpcAdminClient(address));
}

// What `address` says of a generation of the images; null if nothing.
absl::optional<GenerationStatus> Find(const ServerStatus& status, const std::string& generation) {
  for (const GenerationStatus& one : status.generations) {
    if (one.info.ref.index == kTinyImages && one.info.ref.generation == generation) return one;
  }
  return absl::nullopt;
}

// Asks until the server serves `generation`.  Throws after half a minute.
void AwaitReady(const std::string& address, const std::string& generation) {
  const absl::Time patience = Clock::Real()->Now() + absl::Seconds(30);
  // A connection for each question would use up the machine's ports.
  const auto server = MakeGrpcAdminClient(address);
  for (;;) {
    const ServerStatus status = StatusOf(*server);
    const auto found = Find(status, generation);
    if (found.has_value() && found->state == GenerationState::kReady) return;
    if (Clock::Real()->Now() > patience) {
      throw std::runtime_error(absl::StrCat(address, " does not serve ", generation));
    }
    std::this_thread::yield();
  }
}

// The generations of the images that the server holds, whole or on the way.
std::set<std::string> Held(const std::string& address) {
  std::set<std::string> held;
  for (const GenerationStatus& one : StatusOf(address).generations) {
    if (one.info.ref.index == kTinyImages) held.insert(one.info.ref.generation);
  }
  return held;
}

// The generations of the images of which a process has files open or mapped.
std::set<std::string> InUse(const Slot& slot) {
  const pid_t pid = slot.member->pid() != 0 ? slot.member->pid() : ::getpid();
  std::vector<std::string> paths;
  for (const auto& entry :
       std::filesystem::directory_iterator(absl::StrCat("/proc/", pid, "/fd"))) {
    std::error_code gone;  // meanwhile
    paths.push_back(std::filesystem::read_symlink(entry.path(), gone));
  }
  std::ifstream maps(absl::StrCat("/proc/", pid, "/maps"));
  for (std::string line; std::getline(maps, line);) paths.push_back(line);
  const std::string folder = absl::StrCat("/", kTinyImages, "/generations/");
  std::set<std::string> in_use;
  for (const std::string& path : paths) {
    const size_t begin = path.find(folder);
    if (begin == std::string::npos) continue;
    const size_t name = begin + folder.size();
    in_use.insert(path.substr(name, path.find('/', name) - name));
  }
  return in_use;
}

// Asks until no server holds or reads anything of the images but `generation`.  Throws after
// half a minute.
void AwaitAlone(Fleet* fleet, const std::string& generation) {
  const absl::Time patience = Clock::Real()->Now() + absl::Seconds(30);
  const std::set<std::string> alone = {generation};
  for (Slot* slot : fleet->all()) {
    for (;;) {
      const std::set<std::string> held = Held(slot->address()), in_use = InUse(*slot);
      if (held == alone && (in_use.empty() || in_use == alone)) break;
      if (Clock::Real()->Now() > patience) {
        throw std::runtime_error(absl::StrCat(slot->service, " holds ", absl::StrJoin(held, ", "),
                                              " and reads ", absl::StrJoin(in_use, ", "),
                                              " instead of ", generation));
      }
      std::this_thread::yield();
    }
  }
}

// Each generation's index is of another kind.
bundle::v1::IndexSpec SpecOf(int generation) {
  bundle::v1::IndexSpec spec;
  spec.set_seed(1);
  spec.set_kind(std::vector<const char*>{"flat", "ivf", "flat_int8", "hnsw"}[generation]);
  if (spec.kind() == "ivf") {
    spec.mutable_ivf()->set_list_count(3);
    spec.mutable_ivf()->set_code("rabitq");
  }
  if (spec.kind() == "hnsw") spec.mutable_hnsw()->set_code("int8");
  return spec;
}

// A store whose generations s0 to s3 have no item in common, the first of them published.
// Every other one has another model.
TinyStore MakeStore(const std::string& directory) {
  TinyStore store = MakeTinyStore(directory, 160);
  const TinyStore other = WithOtherModel(store);
  for (int i = 0; i < kGenerations; ++i) {
    WriteTinyGeneration(i % 2 == 0 ? store : other, Name(i), kGenerations, i, SpecOf(i));
  }
  REQUIRE(PublishGeneration(store.path, kTinyImages, Name(0)).ok());
  return store;
}

void Publish(const Fleet& fleet, const std::string& generation) {
  REQUIRE(PublishGeneration(fleet.store().path, kTinyImages, generation).ok());
}

// An answer is whole, and all of it comes from the generation that it names.
std::string Complaint(const SearchResult& result) {
  if (!result.degraded.empty()) {
    return absl::StrCat("degraded: ", static_cast<int>(result.degraded.front()), " ",
                        result.failures.empty() ? "" : result.failures.front().ToString());
  }
  if (result.hits.size() != 10) return absl::StrCat(result.hits.size(), " hits");
  for (const Hit& hit : result.hits) {
    int number = -1;  // "pictures/007"
    (void)absl::SimpleAtoi(hit.item_id.substr(9), &number);
    if (Name(number) == result.target.generation) continue;
    return absl::StrCat(hit.item_id, " in an answer of ", result.target.generation);
  }
  return "";
}

// Memory that no file backs, in kB, of each process; nothing of servers in this one.
std::map<std::string, int64_t> AnonymousKilobytes(Fleet* fleet) {
  std::map<std::string, int64_t> kilobytes;
  for (Slot* slot : fleet->all()) {
    if (slot->member->pid() == 0) continue;
    std::ifstream status(absl::StrCat("/proc/", slot->member->pid(), "/status"));
    std::string word;
    while (status >> word && word != "RssAnon:") {
    }
    int64_t& own = kilobytes[absl::StrCat(slot->service, " ", slot->address())];
    status >> own;
    REQUIRE(own > 0);
  }
  return kilobytes;
}

void Tell(int swap, const std::map<std::string, int64_t>& memory) {
  for (const auto& [server, kilobytes] : memory) {
    std::fprintf(stderr, "swap %d: %s: RssAnon %ld kB\n", swap, server.c_str(),
                 static_cast<long>(kilobytes));
  }
}

}  // namespace

TEST_CASE("200 swaps under questions: none fails, none mixes, and memory does not grow") {
  TempDir directory;
  const TinyStore store = MakeStore(directory.path());
  FleetOptions options;
  options.backend_yaml = kQuickly;
  Fleet fleet(store, TestLaunch(), options);
  Load load(fleet.router().address(), /*clients=*/3, Complaint);
  // Processes answer until every thread has its memory: what grows then grows with the swaps.
  load.AwaitAnswers(fleet.router().member->pid() != 0 ? 4000 : 10);
  // After a quarter of the swaps the allocator has what it needs.  Measured while the servers
  // hold nothing but what is served: what others take would hide what is lost.
  std::map<std::string, int64_t> early;
  const int swaps = Swaps();
  for (int swap = 1; swap <= swaps; ++swap) {
    Publish(fleet, Name(swap));
    AwaitReady(fleet.router().address(), Name(swap));
    load.AwaitAnswers(3);
    if (swap == swaps / 4) {
      AwaitAlone(&fleet, Name(swap));
      early = AnonymousKilobytes(&fleet);
    }
    if (swap % 50 == 0) Tell(swap, AnonymousKilobytes(&fleet));
  }
  load.Stop();
  AwaitAlone(&fleet, Name(swaps));
  CHECK(load.complaints() == std::set<std::string>());
  CHECK(load.codes() == std::set<absl::StatusCode>{absl::StatusCode::kOk});
  for (const auto& [server, kilobytes] : AnonymousKilobytes(&fleet)) {
    INFO(server << ": " << early[server] << " kB after a quarter, " << kilobytes << " kB now");
    CHECK(kilobytes <= early[server] + 1024);
  }
}

TEST_CASE("a damaged generation is refused everywhere, told of, and serving goes on") {
  TempDir directory;
  const TinyStore store = MakeStore(directory.path());
  FleetOptions options;
  options.backend_yaml = kQuickly;
  Fleet fleet(store, TestLaunch(), options);
  Load load(fleet.router().address(), /*clients=*/2, Complaint);

  const std::string file = JoinPath(GenerationDirectory(store.path, kTinyImages, Name(1)),
                                    "shards/00001-of-00002.vectors");
  const std::string whole = *ReadFile(file);
  std::string damaged = whole;
  damaged[damaged.size() / 2] = static_cast<char>(damaged[damaged.size() / 2] ^ 4);
  REQUIRE(WriteFileAtomically(file, damaged).ok());
  Publish(fleet, Name(1));
  absl::optional<GenerationStatus> told;
  while (!told.has_value() || told->state != GenerationState::kRefused) {
    told = Find(StatusOf(fleet.shard(1).address()), Name(1));
  }
  CHECK(absl::StartsWith(told->reason, "CHECKSUM_MISMATCH: "));
  CHECK(absl::StrContains(told->reason, file));
  AwaitReady(fleet.shard(0).address(), Name(1));  // whose own file is sound
  load.AwaitAnswers(20);
  CHECK(Find(StatusOf(fleet.router().address()), Name(0)).has_value());

  SECTION("an operator goes back, and on to the next") {
    REQUIRE(RollBackGeneration(store.path, kTinyImages)->current.generation() == Name(0));
    load.AwaitAnswers(5);
    Publish(fleet, Name(2));
    AwaitReady(fleet.router().address(), Name(2));
  }
  SECTION("the file is fetched again, and nothing else has to be done") {
    REQUIRE(WriteFileAtomically(file, whole).ok());
    AwaitReady(fleet.router().address(), Name(1));
  }
  SECTION("a server that starts again serves the one before") {
    fleet.Restart(&fleet.shard(1));
    AwaitReady(fleet.shard(1).address(), Name(0));
    load.Stop();
    CHECK(absl::StartsWith(Find(StatusOf(fleet.shard(1).address()), Name(1))->reason,
                           "CHECKSUM_MISMATCH: "));
    fleet.AwaitWhole();
    return;
  }
  load.AwaitAnswers(10);
  load.Stop();
  CHECK(load.complaints() == std::set<std::string>());
}

TEST_CASE("a store that is put back from a backup is served as it is then, and published to") {
  TempDir directory;
  const TinyStore store = MakeStore(directory.path());
  const std::string current = JoinPath(IndexDirectory(store.path, kTinyImages), "CURRENT");
  const std::string backup = *ReadFile(current);
  FleetOptions options;
  options.backend_yaml = kQuickly;
  options.router_yaml = "generations: {restored_after: 200ms}\n";
  Fleet fleet(store, TestLaunch(), options);
  Load load(fleet.router().address(), /*clients=*/2, Complaint);
  for (int swap = 1; swap < kGenerations; ++swap) {
    Publish(fleet, Name(swap));
    AwaitReady(fleet.router().address(), Name(swap));
  }
  load.AwaitAnswers(5);
  REQUIRE(WriteFileAtomically(current, backup).ok());
  AwaitReady(fleet.router().address(), Name(0));
  AwaitAlone(&fleet, Name(0));
  Publish(fleet, Name(1));  // whose sequence was another's before
  AwaitReady(fleet.router().address(), Name(1));
  load.AwaitAnswers(5);
  load.Stop();
  CHECK(load.complaints() == std::set<std::string>());
}

// What a server of one shard needs for the captions and for one of these generations.
int64_t MemoryForOne(const TinyStore& store) {
  int64_t captions = 0, images = 0;
  for (int shard = 0; shard < store.shard_count; ++shard) {
    const auto bytes = [&](const char* index, const std::string& generation) {
      return ReadGenerationManifest(store.path, index, generation)
          ->shards(shard)
          .vectors()
          .byte_count();
    };
    captions = std::max(captions, bytes(kTinyCaptions, kTinyGeneration));
    for (int i = 0; i < kGenerations; ++i) images = std::max(images, bytes(kTinyImages, Name(i)));
  }
  return captions + images + images / 2;
}

TEST_CASE("replicas that cannot hold two generations go over one by one, and a lone one refuses") {
  TempDir directory;
  const TinyStore store = MakeStore(directory.path());
  FleetOptions options;
  options.backend_yaml = kQuickly;
  options.shard_yaml = absl::StrCat("memory_limit: ", MemoryForOne(store), "\n");

  SECTION("two replicas") {
    options.shard_replicas = 2;
    Fleet fleet(store, TestLaunch(), options);
    Load load(fleet.router().address(), /*clients=*/2, Complaint);
    for (int swap = 1; swap <= 5; ++swap) {
      Publish(fleet, Name(swap));
      AwaitReady(fleet.router().address(), Name(swap));
      for (int shard = 0; shard < 2; ++shard) {
        for (int replica = 0; replica < 2; ++replica) {
          AwaitReady(fleet.shard(shard, replica).address(), Name(swap));
        }
      }
      load.AwaitAnswers(5);
    }
    load.Stop();
    CHECK(load.complaints() == std::set<std::string>());
  }
  SECTION("a lone one") {
    Fleet fleet(store, TestLaunch(), options);
    Load load(fleet.router().address(), /*clients=*/2, Complaint);
    load.AwaitAnswers(5);
    Publish(fleet, Name(1));
    absl::optional<GenerationStatus> told;
    while (!told.has_value() || told->state != GenerationState::kRefused) {
      told = Find(StatusOf(fleet.shard(1).address()), Name(1));
    }
    CHECK(absl::StartsWith(told->reason, "NEEDS_ROOM: "));
    CHECK(told->needs_room);
    load.AwaitAnswers(50);
    load.Stop();
    CHECK(load.complaints() == std::set<std::string>());
    CHECK(Find(StatusOf(fleet.router().address()), Name(0)).has_value());
  }
}

TEST_CASE("kill -9 of a shard at any moment of a swap: it comes back with the right generation") {
  TempDir directory;
  const TinyStore store = MakeStore(directory.path());
  FleetOptions options;
  options.backend_yaml = kQuickly;
  options.shard_replicas = 2;
  // Or the victim might be the only one that has the new generation yet.
  options.router_yaml = "generations: {ready_share: 1}\n";
  Fleet fleet(store, TestLaunch(), options);
  Load load(fleet.router().address(), /*clients=*/2, Complaint);
  std::mt19937 random(5);
  for (int swap = 1; swap <= 12; ++swap) {
    // Always the first replica: a router may need a second until it has connected again.
    Slot* const victim = &fleet.shard(swap % 2, 0);
    Publish(fleet, Name(swap));
    // Some moment from before it was seen to after it is served.
    for (unsigned asked = random() % 12; asked > 0; --asked) StatusOf(victim->address());
    victim->member->Kill();
    load.AwaitAnswers(5);
    fleet.Restart(victim);
    AwaitReady(victim->address(), Name(swap));
    AwaitReady(fleet.router().address(), Name(swap));
  }
  load.Stop();
  CHECK(load.complaints() == std::set<std::string>());
}

}  // namespace sightline
