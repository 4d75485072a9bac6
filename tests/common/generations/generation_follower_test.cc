#include "common/generations/generation_follower.h"

#include <malloc.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "common/base/error_details.h"
#include "common/base/files.h"
#include "common/base/read_pace.h"
#include "common/bundle/generation.h"
#include "common/bundle/manifest.h"
#include "common/bundle/prune.h"
#include "common/bundle/publication.h"
#include "common/generations/generation_table.h"
#include "tests/common/bundle/items.h"
#include "tests/support/catch.h"
#include "tests/support/fake_clock.h"
#include "tests/support/gate.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

// Holds names.  What it says of a generation is set by the test.
class FakeHost : public GenerationHost {
 public:
  explicit FakeHost(std::string store) : store_(std::move(store)) {}

  std::vector<std::string> Files(const Manifest& manifest) const override {
    return {JoinPath(GenerationDirectory(store_, manifest.index(), manifest.generation()),
                     manifest.shards(0).vectors().path())};
  }
  absl::StatusOr<int64_t> Footprint(absl::Span<const Manifest* const> generations) const override {
    std::set<std::string> names;
    for (const Manifest* manifest : generations) names.insert(manifest->generation());
    return 100 * static_cast<int64_t>(names.size());
  }
  absl::Status Verify(const Manifest& manifest, const CallContext&) override {
    verified.push_back(manifest.generation());
    const auto bad = verify.find(manifest.generation());
    return bad == verify.end() ? absl::OkStatus() : bad->second;
  }
  absl::Status Check(const Manifest&) override { return absl::OkStatus(); }
  void Distrust(const Manifest& manifest) override { distrusted.push_back(manifest.generation()); }
  absl::StatusOr<Loaded> Load(const Manifest& manifest, bool already_verified,
                              const CallContext& call) override {
    if (!already_verified) {
      const absl::Status sound = Verify(manifest, call);
      if (!sound.ok()) return sound;
    }
    loaded.push_back(manifest.generation());
    if (during_load != nullptr) during_load(call);
    const auto bad = load.find(manifest.generation());
    if (bad != load.end()) return bad->second;
    return Loaded{std::make_shared<std::string>(manifest.generation()), nullptr};
  }

  std::map<std::string, absl::Status> verify, load;
  std::vector<std::string> verified, loaded, distrusted;
  std::function<void(const CallContext& call)> during_load;

 private:
  const std::string store_;
};

struct Rig {
  explicit Rig(int64_t memory_limit = INT64_MAX) : limit(memory_limit) { Restart(); }

  void Restart() {
    follower.reset();
    table = std::make_unique<GenerationTable>(&clock);
    host.verified.clear();
    host.loaded.clear();
    GenerationOptions options;
    options.store = store.path();
    options.indexes = indexes;
    options.state_dir = state.path();
    options.memory_limit = limit;
    follower = std::make_unique<GenerationFollower>(options, &host, table.get(), &janitor, &metrics,
                                                    &clock, [this](bool serving) {
                                                      served.push_back(serving);
                                                      ready_calls += serving ? 1 : 0;
                                                    });
  }

  void Make(const std::string& generation) {
    const auto written = WriteTestGeneration(store.path(), generation, 4, 1);
    REQUIRE(written.ok());
  }
  void Publish(const std::string& generation) {
    REQUIRE(PublishGeneration(store.path(), "images", generation).ok());
  }
  void MakeAndPublish(const std::string& generation) {
    Make(generation);
    Publish(generation);
  }
  // What the follower's thread does, `after` a while.
  void Pass(absl::Duration after = absl::ZeroDuration()) {
    clock.Advance(after);
    follower->Pass();
  }
  absl::optional<HeldGeneration> Get(const std::string& generation) {
    return table->Get("images", generation);
  }
  bool Ready(const std::string& generation) {
    const auto entry = Get(generation);
    return entry.has_value() && entry->state == HoldState::kReady;
  }
  // "READY", "LOADING", "", or why it was refused.
  std::string State(const std::string& generation) {
    const auto entry = Get(generation);
    if (!entry.has_value()) return "";
    if (entry->state == HoldState::kReady) return "READY";
    if (entry->state == HoldState::kLoading) return "LOADING";
    const auto reason = GetReason(entry->refusal);
    return reason.has_value() ? reason->reason : absl::StatusCodeToString(entry->refusal.code());
  }

  // The same of an index whose generations are the images' but for the name.
  void MakeAndPublishCaptions(const std::string& generation) {
    Make(generation);
    const std::string images = GenerationDirectory(store.path(), "images", generation);
    const std::string captions = GenerationDirectory(store.path(), "captions", generation);
    auto manifest = *ReadGenerationManifest(store.path(), "images", generation);
    manifest.set_index("captions");
    REQUIRE(
        MakeDirectories(JoinPath(IndexDirectory(store.path(), "captions"), "generations")).ok());
    REQUIRE(::rename(images.c_str(), captions.c_str()) == 0);
    REQUIRE(WriteFileAtomically(JoinPath(captions, "manifest.json"), ManifestJson(manifest)).ok());
    REQUIRE(PublishGeneration(store.path(), "captions", generation).ok());
  }
  std::string CurrentPath() { return JoinPath(IndexDirectory(store.path(), "images"), "CURRENT"); }
  // Lets the watch of a load have a look; for what runs during the load.
  void LetWatchLook() {
    clock.AwaitSleepers(1);
    clock.Advance(absl::Seconds(1));
    clock.AwaitSleepers(1);
  }

  std::vector<std::string> indexes = {"images"};
  TempDir store, state;
  FakeClock clock;
  MetricsRegistry metrics;
  Janitor janitor;
  FakeHost host{store.path()};
  const int64_t limit;
  int ready_calls = 0;
  std::vector<bool> served;  // what the follower said, in order
  std::unique_ptr<GenerationTable> table;
  std::unique_ptr<GenerationFollower> follower;
};

const absl::Status kDamaged = WithReason(absl::DataLossError("damaged"), "CHECKSUM_MISMATCH");

TEST_CASE("nothing published is waited for, and what is published then is served") {
  Rig rig;
  rig.Pass();
  CHECK(rig.ready_calls == 0);
  rig.MakeAndPublish("g1");
  rig.Pass();
  CHECK(rig.Ready("g1"));
  CHECK(rig.Get("g1")->sequence == 1);
  CHECK(rig.ready_calls == 1);
  rig.Pass();
  CHECK(rig.host.loaded == std::vector<std::string>{"g1"});
  CHECK(rig.ready_calls == 1);
}

TEST_CASE("the old generation stays until nobody has used it for a while") {
  Rig rig;
  rig.MakeAndPublish("g1");
  rig.Pass();
  rig.MakeAndPublish("g2");
  rig.follower->NoteUses("router", {{"images", "g1", false}});
  rig.Pass();
  CHECK(rig.Ready("g1"));
  CHECK(rig.Ready("g2"));

  SECTION("a router keeps it, however long, as long as it asks") {
    for (int i = 0; i < 10; ++i) {
      rig.follower->NoteUses("router", {{"images", "g1", false}});
      rig.Pass(absl::Seconds(5));
    }
    CHECK(rig.Ready("g1"));
    rig.follower->NoteUses("router", {{"images", "g2", false}});
    rig.Pass();
    CHECK(!rig.Ready("g1"));
    CHECK(rig.Ready("g2"));
  }
  SECTION("a router that is gone keeps nothing") {
    rig.Pass(absl::Seconds(10));
    CHECK(!rig.Ready("g1"));
  }
  SECTION("a request keeps it for as long as a router would") {
    rig.follower->NoteUses("router", {});
    const std::string space = rig.Get("g1")->manifest->embedding().space();
    rig.clock.Advance(absl::Seconds(9));
    CHECK(rig.table->Find("images", "g1", space).ok());
    rig.Pass(absl::Seconds(9));
    CHECK(rig.Ready("g1"));
    rig.Pass(absl::Seconds(1));
    CHECK(!rig.Ready("g1"));
  }
  SECTION("it is there for a while even when nobody names it yet") {
    rig.follower->NoteUses("router", {});
    rig.Pass(absl::Seconds(9));
    CHECK(rig.Ready("g1"));
  }
}

TEST_CASE("going back to a generation that is still held takes no loading") {
  Rig rig;
  rig.MakeAndPublish("g1");
  rig.Pass();
  rig.MakeAndPublish("g2");
  rig.Pass();
  REQUIRE(RollBackGeneration(rig.store.path(), "images").ok());
  rig.Pass();
  CHECK(rig.Get("g1")->sequence == 3);
  CHECK(rig.Get("g2")->sequence == 2);
  CHECK(rig.host.loaded == std::vector<std::string>{"g1", "g2"});
  rig.Pass(absl::Seconds(10));
  CHECK(rig.Ready("g1"));
  CHECK(!rig.Ready("g2"));
}

TEST_CASE("a refused generation leaves what is served alone and is not tried again") {
  Rig rig;
  rig.MakeAndPublish("g1");
  rig.Pass();
  rig.host.verify["g2"] = kDamaged;
  rig.MakeAndPublish("g2");
  for (int i = 0; i < 5; ++i) rig.Pass(absl::Minutes(1));
  CHECK(rig.State("g2") == "CHECKSUM_MISMATCH");
  CHECK(rig.Ready("g1"));
  CHECK(rig.host.verified == std::vector<std::string>{"g1", "g2"});
  CHECK(rig.metrics.Render().find("generation_loads_total{index=\"images\","
                                  "result=\"CHECKSUM_MISMATCH\"} 1") != std::string::npos);
  CHECK(rig.metrics.Render().find("generation_sequence{index=\"images\",which=\"desired\"} 2") !=
        std::string::npos);
  CHECK(rig.metrics.Render().find("generation_sequence{index=\"images\",which=\"ready\"} 1") !=
        std::string::npos);

  SECTION("not after a restart either, which serves the ancestor") {
    rig.Restart();
    rig.Pass();
    CHECK(rig.State("g2") == "CHECKSUM_MISMATCH");
    CHECK(rig.Ready("g1"));
    CHECK(rig.Get("g1")->sequence == 1);
    CHECK(rig.host.verified == std::vector<std::string>{"g1"});
    CHECK(rig.ready_calls == 2);
  }
  SECTION("until its files change") {
    rig.host.verify.clear();
    const std::string file = rig.host.Files(*rig.Get("g2")->manifest).front();
    REQUIRE(WriteFileAtomically(file, *ReadFile(file)).ok());
    rig.Pass();
    CHECK(rig.Ready("g2"));
  }
  SECTION("and it is forgotten when another one is published") {
    rig.MakeAndPublish("g3");
    rig.Pass();
    CHECK(rig.Ready("g3"));
    CHECK(rig.State("g2").empty());
  }
}

TEST_CASE("a generation without a manifest, a broken and a newer one say so") {
  Rig rig;
  rig.MakeAndPublish("g1");
  rig.Pass();
  rig.MakeAndPublish("g2");
  const std::string manifest =
      JoinPath(GenerationDirectory(rig.store.path(), "images", "g2"), "manifest.json");
  const std::string whole = *ReadFile(manifest);

  REQUIRE(::unlink(manifest.c_str()) == 0);
  rig.Pass();
  CHECK(rig.State("g2") == "MANIFEST_MISSING");
  REQUIRE(WriteFileAtomically(manifest, "{").ok());
  rig.Pass();
  CHECK(rig.State("g2") == "MANIFEST_INVALID");
  REQUIRE(WriteFileAtomically(manifest, "{\"format_version\": 99}").ok());
  rig.Pass();
  CHECK(rig.State("g2") == "NEWER_FORMAT");
  CHECK(rig.Ready("g1"));
  REQUIRE(WriteFileAtomically(manifest, whole).ok());
  rig.Pass();
  CHECK(rig.Ready("g2"));
}

TEST_CASE("trouble of the machine is tried again, more and more slowly") {
  Rig rig;
  rig.host.load["g1"] = absl::UnavailableError("the disk is away");
  rig.MakeAndPublish("g1");
  rig.Pass();
  CHECK(rig.State("g1") == "UNAVAILABLE");
  rig.Pass(absl::Milliseconds(999));
  CHECK(rig.host.loaded.size() == 1);
  rig.Pass(absl::Milliseconds(1));
  CHECK(rig.host.loaded.size() == 2);
  rig.Pass(absl::Milliseconds(1999));
  CHECK(rig.host.loaded.size() == 2);
  rig.Pass(absl::Milliseconds(1));
  CHECK(rig.host.loaded.size() == 3);
  // What is loaded is read anew, and so it is checked anew.
  CHECK(rig.host.verified.size() == 3);
  // Told once.
  CHECK(rig.metrics.Render().find("result=\"UNAVAILABLE\"} 1") != std::string::npos);
  rig.host.load.clear();
  rig.Pass(absl::Minutes(1));
  CHECK(rig.Ready("g1"));
  CHECK(ListFilesBelow(rig.state.path())->empty());
}

TEST_CASE("a generation whose files cannot be read any more is loaded anew, and comes back") {
  Rig rig;
  rig.MakeAndPublish("g1");
  rig.Pass();
  REQUIRE(rig.served == std::vector<bool>{true});
  const std::string space = rig.Get("g1")->manifest->embedding().space();
  const auto fail = [&](const absl::Status& why) {
    rig.table->Fail("images", "g1", rig.Get("g1")->held.get(), why);
  };
  const absl::Status unreadable =
      WithReason(absl::UnavailableError("read /store/file: Input/output error"), "READ_FAILED");
  rig.host.load["g1"] = unreadable;
  fail(unreadable);
  // At once, and the refusal says which file it is.
  const absl::Status refused = rig.table->Find("images", "g1", space).status();
  CHECK(GetReason(refused)->reason == "GENERATION_NOT_HELD");
  CHECK(std::string(refused.message()).find("/store/file") != std::string::npos);
  CHECK(rig.State("g1") == "READ_FAILED");

  rig.Pass();
  CHECK(rig.host.distrusted == std::vector<std::string>{"g1"});
  CHECK(rig.served == std::vector<bool>{true, false});
  CHECK(rig.host.loaded.size() == 1);
  rig.Pass(absl::Seconds(1));
  CHECK(rig.host.loaded.size() == 2);
  CHECK(rig.State("g1") == "READ_FAILED");
  rig.Pass(absl::Milliseconds(999));
  CHECK(rig.host.loaded.size() == 2);
  rig.host.load.clear();
  rig.Pass(absl::Seconds(2));
  CHECK(rig.Ready("g1"));
  CHECK(rig.served == std::vector<bool>{true, false, true});
  CHECK(rig.host.verified.size() == 3);              // believed nothing that was known before
  CHECK(ListFilesBelow(rig.state.path())->empty());  // and nothing is held against it
  rig.Pass();
  CHECK(rig.host.distrusted.size() == 1);
}

TEST_CASE("the first load is as fast as the disk, and later ones leave room for others") {
  Rig rig;
  std::vector<absl::Duration> took;
  Gate loaded;
  rig.host.during_load = [&](const CallContext&) {
    const absl::Time begin = rig.clock.Now();
    ReadPace* const pace = ReadPace::OfThread();
    for (int i = 0; i < 2 && pace != nullptr; ++i) pace->Await(int64_t{1} << 30);
    took.push_back(rig.clock.Now() - begin);
    if (took.size() == 2) loaded.Open();
  };
  rig.MakeAndPublish("g1");
  rig.follower->Start();
  CHECK(rig.Ready("g1"));
  CHECK(took == std::vector<absl::Duration>{absl::ZeroDuration()});
  rig.MakeAndPublish("g2");
  rig.clock.AwaitSleepers(1);
  rig.clock.Advance(absl::Seconds(1));
  rig.clock.AwaitSleepers(2);  // who loads, and who looks at CURRENT meanwhile
  rig.clock.Advance(absl::Seconds(1));
  loaded.Wait();
  CHECK(took.back() == absl::Seconds(1));
}

TEST_CASE("damage that a request has proven is remembered, and the ancestor is served") {
  Rig rig;
  rig.MakeAndPublish("g1");
  rig.MakeAndPublish("g2");
  rig.Pass();
  REQUIRE(rig.Ready("g2"));
  rig.table->Fail("images", "g2", rig.Get("g2")->held.get(), kDamaged);
  rig.Pass();
  CHECK(rig.State("g2") == "CHECKSUM_MISMATCH");
  CHECK(rig.Ready("g1"));
  rig.Restart();
  rig.Pass(absl::Hours(1));
  CHECK(rig.State("g2") == "CHECKSUM_MISMATCH");
  CHECK(rig.host.loaded == std::vector<std::string>{"g1"});
}

TEST_CASE("what failed of something that is not held any more changes nothing") {
  Rig rig;
  rig.MakeAndPublish("g1");
  rig.Pass();
  const std::string other;
  rig.table->Fail("images", "g1", &other, kDamaged);
  rig.table->Fail("images", "g2", &other, kDamaged);
  rig.table->Fail("films", "g1", &other, kDamaged);
  CHECK(rig.Ready("g1"));
}

TEST_CASE("a cold start serves the newest good ancestor, and not one that was rolled back") {
  Rig rig;
  for (const char* generation : {"g1", "g2", "g3", "g4"}) rig.MakeAndPublish(generation);
  REQUIRE(RollBackGeneration(rig.store.path(), "images").ok());  // g3; g4 is rolled back
  rig.host.verify["g3"] = kDamaged;

  SECTION("the one before") {
    rig.Pass();
    CHECK(rig.State("g3") == "CHECKSUM_MISMATCH");
    CHECK(rig.Ready("g2"));
    CHECK(rig.Get("g2")->sequence == 2);
    CHECK(rig.State("g4").empty());
    rig.Pass();
    CHECK(rig.host.loaded == std::vector<std::string>{"g2"});
  }
  SECTION("or the one before that") {
    rig.host.load["g2"] =
        WithReason(absl::FailedPreconditionError("finds little"), "RECALL_TOO_LOW");
    rig.Pass();
    CHECK(rig.Ready("g1"));
    rig.MakeAndPublish("g5");
    rig.Pass();
    CHECK(rig.Ready("g5"));
    rig.Pass(absl::Seconds(10));
    CHECK(!rig.Ready("g1"));
  }
}

TEST_CASE("where nothing was published before, the parent is the ancestor") {
  Rig rig;
  rig.Make("g1");
  rig.Make("g2");
  auto manifest = *ReadGenerationManifest(rig.store.path(), "images", "g2");
  manifest.set_parent_generation("g1");
  REQUIRE(WriteFileAtomically(
              JoinPath(GenerationDirectory(rig.store.path(), "images", "g2"), "manifest.json"),
              ManifestJson(manifest))
              .ok());
  rig.Publish("g2");
  rig.host.verify["g2"] = kDamaged;
  rig.Pass();
  CHECK(rig.Ready("g1"));
}

TEST_CASE("what is larger than the limit is refused before it is read") {
  Rig rig(/*memory_limit=*/99);
  rig.MakeAndPublish("g1");
  rig.Pass();
  CHECK(rig.State("g1") == "TOO_BIG");
  CHECK(!rig.Get("g1")->needs_room);
  CHECK(rig.host.verified.empty());
}

TEST_CASE("a lone server that cannot hold two refuses the second and says why") {
  Rig rig(/*memory_limit=*/199);
  rig.MakeAndPublish("g1");
  rig.Pass();
  rig.MakeAndPublish("g2");
  for (int i = 0; i < 5; ++i) {
    rig.follower->NoteUses("router", {{"images", "g1", false}});
    rig.Pass(absl::Seconds(5));
    CHECK(rig.State("g2") == "NEEDS_ROOM");
    CHECK(rig.Get("g2")->needs_room);
    CHECK(rig.Ready("g1"));
  }
  // Whether it is good is known before anybody makes room for it; once is enough.
  CHECK(rig.host.verified == std::vector<std::string>{"g1", "g2"});
  CHECK(rig.host.loaded == std::vector<std::string>{"g1"});

  SECTION("it goes over when every router can do without it") {
    rig.follower->NoteUses("other", {{"images", "g1", false}});
    rig.follower->NoteUses("router", {{"images", "g1", true}});
    rig.Pass();
    CHECK(rig.Ready("g1"));
    rig.follower->NoteUses("other", {{"images", "g1", true}});
    rig.Pass();
    CHECK(!rig.Ready("g1"));
    CHECK(rig.Ready("g2"));
  }
  SECTION("but not before requests have let go of the old one") {
    auto request = rig.table->Find("images", "g1", rig.Get("g1")->manifest->embedding().space());
    REQUIRE(request.ok());
    rig.follower->NoteUses("router", {{"images", "g1", true}});
    rig.Pass();
    CHECK(rig.State("g1").empty());
    CHECK(rig.host.loaded == std::vector<std::string>{"g1"});
    for (int i = 0; i < 3; ++i) {  // nor is the old one taken back meanwhile
      rig.Pass(absl::Seconds(1));
      CHECK(rig.State("g2") == "NEEDS_ROOM");
      CHECK(rig.State("g1").empty());
    }
    request = absl::CancelledError();
    rig.janitor.Flush();
    rig.Pass();
    CHECK(rig.Ready("g2"));
  }
  SECTION("and what is bad is told before anything is let go") {
    rig.host.verify["g3"] = kDamaged;
    rig.MakeAndPublish("g3");
    rig.follower->NoteUses("router", {{"images", "g1", true}});
    rig.Pass();
    CHECK(rig.State("g3") == "CHECKSUM_MISMATCH");
    CHECK(rig.Ready("g1"));
  }
  SECTION("what fails only when it is loaded gives way to the old one again") {
    rig.host.load["g2"] =
        WithReason(absl::FailedPreconditionError("finds little"), "RECALL_TOO_LOW");
    rig.follower->NoteUses("router", {{"images", "g1", true}});
    rig.Pass();
    CHECK(rig.State("g2") == "RECALL_TOO_LOW");
    CHECK(rig.Ready("g1"));
  }
}

TEST_CASE("a load that is tried again and again leaves nothing behind") {
  const auto held = [] { return static_cast<int64_t>(::mallinfo2().uordblks); };
  constexpr int kTries = 500;
  SECTION("for want of room") {
    Rig rig(/*memory_limit=*/199);
    rig.MakeAndPublish("g1");
    rig.Pass();
    rig.MakeAndPublish("g2");
    rig.follower->NoteUses("router", {{"images", "g1", false}});
    for (int i = 0; i < 50; ++i) rig.Pass();  // what grows once has grown
    REQUIRE(rig.State("g2") == "NEEDS_ROOM");
    const int64_t before = held();
    for (int i = 0; i < kTries; ++i) rig.Pass();
    CHECK(held() - before < kTries * 16);
  }
  SECTION("for its size") {
    Rig rig(/*memory_limit=*/99);
    rig.MakeAndPublish("g1");
    for (int i = 0; i < 50; ++i) rig.Pass();
    REQUIRE(rig.State("g1") == "TOO_BIG");
    const int64_t before = held();
    for (int i = 0; i < kTries; ++i) rig.Pass();
    CHECK(held() - before < kTries * 16);
  }
}

TEST_CASE("what nobody uses makes room without anybody's leave") {
  Rig rig(/*memory_limit=*/299);
  rig.MakeAndPublish("g1");
  rig.Pass();
  rig.MakeAndPublish("g2");
  rig.Pass();
  // The routers stay on g1, since g2 is refused elsewhere; g3 is the repair.
  rig.MakeAndPublish("g3");
  rig.follower->NoteUses("router", {{"images", "g1", false}});
  rig.Pass();
  CHECK(rig.State("g3") == "NEEDS_ROOM");
  rig.clock.Advance(absl::Seconds(10));
  rig.follower->NoteUses("router", {{"images", "g1", false}});
  rig.Pass();
  CHECK(rig.Ready("g1"));
  CHECK(!rig.Ready("g2"));
  CHECK(rig.Ready("g3"));
}

TEST_CASE("the only one held makes room when the routers have gone over to another replica") {
  Rig rig(/*memory_limit=*/199);
  rig.MakeAndPublish("g1");
  rig.Pass();
  rig.MakeAndPublish("g2");
  rig.Pass(absl::Seconds(20));
  CHECK(rig.State("g2") == "NEEDS_ROOM");  // and there is no router
  rig.follower->NoteUses("router", {{"images", "g1", false}});
  rig.Pass();
  CHECK(rig.Ready("g1"));
  rig.follower->NoteUses("router", {{"images", "g2", false}});
  rig.Pass();
  CHECK(!rig.Ready("g1"));
  CHECK(rig.Ready("g2"));
}

TEST_CASE("trouble that may be over in a second is no reason to serve something older") {
  Rig rig;
  rig.MakeAndPublish("g1");
  rig.MakeAndPublish("g2");
  rig.host.load["g2"] = absl::UnavailableError("the disk is away");
  rig.Pass();
  CHECK(rig.State("g2") == "UNAVAILABLE");
  CHECK(rig.State("g1").empty());
  SECTION("it is over") {
    rig.host.load.clear();
    rig.Pass(absl::Seconds(1));
    CHECK(rig.Ready("g2"));
    CHECK(rig.host.loaded == std::vector<std::string>{"g2", "g2"});
  }
  SECTION("it lasts") {
    rig.Pass(absl::Seconds(1));
    rig.Pass(absl::Seconds(2));
    CHECK(rig.Ready("g1"));
    rig.host.load.clear();
    rig.Pass(absl::Seconds(4));
    CHECK(rig.Ready("g2"));
  }
}

TEST_CASE("a load that CURRENT no longer asks for is given up") {
  Rig rig;
  rig.MakeAndPublish("g1");
  rig.Pass();
  rig.Make("g2");
  rig.Make("g3");
  rig.Publish("g2");
  rig.host.load["g2"] = absl::CancelledError("given up");
  rig.host.during_load = [&](const CallContext& call) {
    rig.host.during_load = nullptr;
    rig.Publish("g3");
    rig.clock.AwaitSleepers(1);
    rig.clock.Advance(absl::Seconds(1));
    while (!call.cancelled()) std::this_thread::yield();
  };
  rig.Pass();
  CHECK(rig.State("g2").empty());
  CHECK(rig.Ready("g1"));
  rig.Pass();
  CHECK(rig.Ready("g3"));
  CHECK(rig.State("g2").empty());
}

TEST_CASE("a follower that goes gives up what it is loading") {
  Rig rig;
  rig.MakeAndPublish("g1");
  rig.follower->Start();
  std::atomic<bool> loading{false};
  rig.host.load["g2"] = absl::CancelledError("given up");
  rig.host.during_load = [&](const CallContext& call) {
    loading = true;
    while (!call.cancelled()) std::this_thread::yield();
  };
  rig.MakeAndPublish("g2");
  rig.clock.AwaitSleepers(1);
  rig.clock.Advance(absl::Seconds(1));
  while (!loading) std::this_thread::yield();
  rig.follower.reset();
  CHECK(rig.Ready("g1"));
}

TEST_CASE("going back to what is held waits for no other index's load") {
  Rig rig;
  rig.indexes = {"images", "captions"};
  rig.Restart();
  rig.MakeAndPublish("g1");
  rig.Pass();
  rig.MakeAndPublish("g2");
  rig.Pass();
  rig.MakeAndPublishCaptions("c1");
  absl::optional<HeldGeneration> meanwhile;
  rig.host.during_load = [&](const CallContext& call) {
    REQUIRE(RollBackGeneration(rig.store.path(), "images").ok());
    rig.LetWatchLook();
    meanwhile = rig.Get("g1");
    CHECK(!call.cancelled());
  };
  rig.Pass();
  REQUIRE(meanwhile.has_value());
  CHECK(meanwhile->sequence == 3);  // which is all that routers need to go there
  CHECK(rig.host.loaded == std::vector<std::string>{"g1", "g2", "c1"});
}

TEST_CASE("going back to what has to be loaded puts another index's load off, once") {
  Rig rig;
  rig.indexes = {"captions", "images"};
  rig.Restart();
  rig.MakeAndPublish("g1");
  rig.MakeAndPublish("g2");
  rig.Pass();
  rig.MakeAndPublishCaptions("c1");
  const bool refused = GENERATE(false, true);  // what was gone back to is
  if (refused) rig.host.verify["g1"] = kDamaged;
  int loads = 0;
  rig.host.load["c1"] = absl::CancelledError("given up");
  rig.host.during_load = [&](const CallContext& call) {
    ++loads;
    if (loads == 1) REQUIRE(RollBackGeneration(rig.store.path(), "images").ok());
    if (loads > 1) rig.host.load.clear();
    rig.LetWatchLook();
    CHECK(call.cancelled() == (loads == 1));
  };
  rig.Pass();
  CHECK(rig.State("g1") == (refused ? "CHECKSUM_MISMATCH" : "READY"));
  CHECK(rig.table->Get("captions", "c1")->state == HoldState::kReady);
  CHECK(rig.host.loaded == (refused ? std::vector<std::string>{"g2", "c1", "c1"}
                                    : std::vector<std::string>{"g2", "c1", "g1", "c1"}));
}

TEST_CASE("a publication of another index waits its turn") {
  Rig rig;
  rig.indexes = {"captions", "images"};
  rig.Restart();
  rig.MakeAndPublish("g1");
  rig.Pass();
  rig.MakeAndPublishCaptions("c1");
  rig.host.during_load = [&](const CallContext& call) {
    rig.host.during_load = nullptr;
    rig.MakeAndPublish("g2");
    rig.LetWatchLook();
    CHECK(!call.cancelled());
  };
  rig.Pass();
  CHECK(rig.host.loaded == std::vector<std::string>{"g1", "c1", "g2"});
}

TEST_CASE("a restored store is followed once its CURRENT has stood for a while") {
  Rig rig;
  rig.MakeAndPublish("g1");
  const std::string restored = *ReadFile(rig.CurrentPath());
  rig.MakeAndPublish("g2");
  rig.MakeAndPublish("g3");
  const std::string present = *ReadFile(rig.CurrentPath());
  rig.Pass();
  REQUIRE(WriteFileAtomically(rig.CurrentPath(), restored).ok());
  rig.Pass();
  rig.Pass(absl::Minutes(2) - absl::Nanoseconds(1));
  CHECK(rig.host.loaded == std::vector<std::string>{"g3"});
  CHECK(rig.Get("g3")->sequence == 3);

  SECTION("it stands") {
    rig.follower->NoteUses("router", {{"images", "g3", false}});
    rig.Pass(absl::Nanoseconds(1));
    CHECK(rig.Ready("g1"));
    CHECK(rig.Get("g1")->sequence == 1);
    CHECK(rig.Ready("g3"));  // requests still go there
    CHECK(rig.Get("g3")->sequence == 0);
    CHECK(rig.metrics.Render().find("generation_sequence{index=\"images\",which=\"desired\"} 1") !=
          std::string::npos);
    // What is published from now on is new, whatever its number was before.
    rig.MakeAndPublish("g4");
    rig.Pass();
    CHECK(rig.Ready("g4"));
    CHECK(rig.Get("g4")->sequence == 2);
    CHECK(rig.Get("g1")->sequence == 1);
    rig.Pass(absl::Seconds(10));
    CHECK(!rig.Ready("g3"));
  }
  SECTION("it was an old one that a network file system had shown") {
    REQUIRE(WriteFileAtomically(rig.CurrentPath(), present).ok());
    rig.Pass();
    REQUIRE(WriteFileAtomically(rig.CurrentPath(), restored).ok());
    rig.Pass(absl::Nanoseconds(1));
    rig.Pass(absl::Minutes(1));
    CHECK(rig.host.loaded == std::vector<std::string>{"g3"});
    CHECK(rig.Get("g3")->sequence == 3);
  }
  SECTION("a server that starts believes what it sees") {
    rig.Restart();
    rig.Pass();
    CHECK(rig.host.loaded == std::vector<std::string>{"g1"});
  }
}

TEST_CASE("an old CURRENT gives no load up") {
  Rig rig;
  rig.MakeAndPublish("g1");
  rig.Pass();
  const std::string old = *ReadFile(rig.CurrentPath());
  rig.MakeAndPublish("g2");
  rig.host.during_load = [&](const CallContext& call) {
    REQUIRE(WriteFileAtomically(rig.CurrentPath(), old).ok());
    rig.LetWatchLook();
    CHECK(!call.cancelled());
  };
  rig.Pass();
  CHECK(rig.Ready("g2"));
}

TEST_CASE("what was pruned is no ancestor") {
  Rig rig;
  for (const char* generation : {"g1", "g2", "g3"}) rig.MakeAndPublish(generation);
  PruneOptions prune;
  prune.keep = 1;
  prune.grace = absl::ZeroDuration();
  REQUIRE(PruneGenerations(rig.store.path(), "images", prune, absl::Now()).ok());
  rig.host.verify["g3"] = kDamaged;
  rig.Pass();
  CHECK(rig.State("g3") == "CHECKSUM_MISMATCH");
  CHECK(rig.State("g2").empty());
}

TEST_CASE("a malformed CURRENT changes nothing") {
  Rig rig;
  rig.MakeAndPublish("g1");
  rig.Pass();
  REQUIRE(WriteFileAtomically(JoinPath(IndexDirectory(rig.store.path(), "images"), "CURRENT"), "{")
              .ok());
  rig.Pass(absl::Minutes(1));
  CHECK(rig.Ready("g1"));
}

TEST_CASE("the thread follows, and ends in the middle of anything") {
  Rig rig;
  rig.MakeAndPublish("g1");
  rig.follower->Start();
  CHECK(rig.Ready("g1"));
  rig.MakeAndPublish("g2");
  rig.clock.AwaitSleepers(1);
  rig.clock.Advance(absl::Seconds(1));
  while (!rig.Ready("g2")) std::this_thread::yield();
  rig.follower.reset();
  CHECK(rig.Ready("g1"));
}

}  // namespace
}  // namespace sightline
