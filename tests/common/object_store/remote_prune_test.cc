#include "common/object_store/remote_prune.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/bundle/layout.h"
#include "common/bundle/prune.h"
#include "common/bundle/publication.h"
#include "common/object_store/object_keys.h"
#include "common/object_store/remote_publication.h"
#include "tests/common/object_store/memory_object_store.h"
#include "tests/common/object_store/stored_generations.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

using Names = std::vector<std::string>;

constexpr absl::Duration kGrace = absl::Hours(24);

PruneOptions Keep(int keep) {
  PruneOptions options;
  options.keep = keep;
  return options;
}

// The clock of the store and of those who use it.
struct Store : MemoryObjectStore {
  void Make(const std::string& generation) { MakeRemote(this, generation); }
  void Publish(const std::string& generation) {
    now += absl::Hours(1);
    REQUIRE(PublishRemote(this, "images", generation, now, Unbounded()).ok());
  }
  void RollBack() {
    now += absl::Hours(1);
    REQUIRE(RollBackRemote(this, "images", now, Unbounded()).ok());
  }
  PruneSummary Prune(const PruneOptions& options) {
    auto summary = PruneRemote(this, "images", options, now, Unbounded());
    REQUIRE(summary.ok());
    return *std::move(summary);
  }
  bool Has(const std::string& generation) {
    return !Keys(GenerationPrefix("images", generation)).empty();
  }
};

TEST_CASE("old generations are noted, and deleted when the grace is over") {
  Store store;
  for (const char* name : {"g1", "g2", "g3"}) {
    store.Make(name);
    store.Publish(name);
  }
  CHECK(store.Prune(Keep(2)).set_aside.empty());  // g1 was left an hour ago
  store.now += kGrace;
  const PruneSummary noted = store.Prune(Keep(2));
  CHECK(noted.set_aside == Names{"g1"});
  CHECK(noted.kept == Names{"g2", "g3"});
  CHECK(noted.deleted.empty());
  REQUIRE(noted.waiting.size() == 1);
  CHECK(noted.waiting[0].delete_time == store.now + kGrace);
  CHECK(store.Has("g1"));
  store.now += kGrace - absl::Seconds(1);
  CHECK(store.Prune(Keep(2)).deleted.empty());
  store.now += absl::Seconds(1);
  const PruneSummary deleted = store.Prune(Keep(2));
  CHECK(deleted.deleted == Names{"g1"});
  CHECK(deleted.set_aside.empty());
  CHECK(deleted.byte_count > 0);
  CHECK(!store.Has("g1"));
  CHECK(store.Has("g2"));
  CHECK(store.Keys(PrunedPrefix("images")).empty());
  CHECK(deleted.problems.empty());
}

TEST_CASE("a store keeps what a folder keeps of the same history") {
  Store store;
  const TempDir folder;
  const auto publish = [&](const std::string& name) {
    store.Publish(name);
    REQUIRE(PublishGeneration(folder.path(), "images", name, store.now).ok());
  };
  for (const char* name : {"g1", "g2", "g3", "g4", "g5"}) {
    store.Make(name);
    MakeGeneration(folder.path(), name);
    publish(name);
  }
  store.RollBack();
  REQUIRE(RollBackGeneration(folder.path(), "images", store.now).ok());
  for (int round = 0; round < 4; ++round) {
    store.now += absl::Hours(20);
    const auto local = PruneGenerations(folder.path(), "images", Keep(2), store.now);
    REQUIRE(local.ok());
    const PruneSummary remote = store.Prune(Keep(2));
    INFO(round);
    CHECK(remote.kept == local->kept);
    CHECK(remote.set_aside == local->set_aside);
    CHECK(remote.deleted == local->deleted);
    CHECK(remote.waiting.size() == local->waiting.size());
  }
}

TEST_CASE("what was never published goes when nobody has written to it for a day") {
  Store store;
  store.Make("g1");
  store.Publish("g1");
  store.Make("half");
  CHECK(store.Prune(Keep(1)).set_aside.empty());
  store.now += kGrace;
  store.Put("indexes/images/generations/half/shards/more", "still at it");
  CHECK(store.Prune(Keep(1)).set_aside.empty());
  store.now += kGrace;
  CHECK(store.Prune(Keep(1)).set_aside == Names{"half"});
}

TEST_CASE("a generation that is published again while it waits stays") {
  Store store;
  for (const char* name : {"g1", "g2"}) {
    store.Make(name);
    store.Publish(name);
  }
  store.now += kGrace;
  CHECK(store.Prune(Keep(1)).set_aside == Names{"g1"});
  const Names notes = store.Keys(PrunedPrefix("images"));
  REQUIRE(notes.size() == 1);
  REQUIRE(store.Remove(notes[0], Unbounded()).ok());  // as the publisher is told
  store.RollBack();
  store.Put(notes[0], "");  // a prune that ran meanwhile
  store.now += kGrace + kGrace;
  CHECK(store.Prune(Keep(1)).deleted.empty());
  CHECK(store.Has("g1"));
  CHECK(store.Keys(notes[0]).empty());
}

TEST_CASE("a publication while a prune runs is looked at before anything is deleted") {
  Store store;
  for (const char* name : {"g1", "g2"}) {
    store.Make(name);
    store.Publish(name);
  }
  store.now += kGrace;
  store.Prune(Keep(1));
  store.now += kGrace;
  bool once = true;
  store.before = [&](const std::string& operation, const std::string& key) {
    // After the prune has made up its mind: a program that knows nothing of notes publishes.
    if (operation == "remove" || key != CurrentPrefix("images") || !once) return absl::OkStatus();
    static int looks = 0;
    if (++looks < 3) return absl::OkStatus();
    once = false;
    auto current = ReadPublication(&store, "images", 2, Unbounded());
    REQUIRE(current.ok());
    const auto again = CurrentAfter(*current, "g1", store.now);
    store.Put(CurrentKey("images", 3), ManifestJson(again));
    return absl::OkStatus();
  };
  CHECK(store.Prune(Keep(1)).deleted.empty());
  CHECK(!once);
  CHECK(store.Has("g1"));
}

TEST_CASE("what is published while its manifest is removed gets it back, and stays") {
  Store store;
  for (const char* name : {"g1", "g2"}) {
    store.Make(name);
    store.Publish(name);
  }
  store.now += kGrace;
  store.Prune(Keep(1));
  store.now += kGrace;
  const auto before = store.Content();
  const std::string manifest = "indexes/images/generations/g1/manifest.json";
  const bool looks_in_vain = GENERATE(false, true);
  bool published = false;
  store.before = [&](const std::string& operation, const std::string& key) {
    if (operation == "list" && published && looks_in_vain) return absl::UnavailableError("away");
    if (operation != "remove" || key != manifest) return absl::OkStatus();
    // The removal takes so long that a publisher comes to its end.
    CHECK(PublishRemote(&store, "images", "g1", store.now, Unbounded()).ok());
    published = true;
    return absl::OkStatus();
  };
  const PruneSummary pruned = store.Prune(Keep(1));
  store.before = nullptr;
  CHECK(published);
  CHECK(pruned.deleted.empty());
  REQUIRE_FALSE(pruned.problems.empty());
  CHECK(pruned.problems[0].code() ==
        (looks_in_vain ? absl::StatusCode::kUnavailable : absl::StatusCode::kAborted));
  for (const auto& [key, bytes] : before) {
    if (key.find("/.pruned/") == key.npos) CHECK(store.Content()[key] == bytes);
  }
  // The next one has nothing to do with it any more.
  CHECK(store.Prune(Keep(1)).problems.empty());
  CHECK(PublishRemote(&store, "images", "g1", store.now, Unbounded()).ok());
}

TEST_CASE("publications go when they were replaced a grace ago, the newest never") {
  Store store;
  store.Make("g1");
  for (int i = 0; i < 3; ++i) store.Publish("g1");
  store.now += kGrace - absl::Hours(1);
  store.Prune(Keep(1));
  CHECK(store.Keys(CurrentPrefix("images")).size() == 2);  // the first was replaced long enough ago
  store.now += 10 * kGrace;
  store.Prune(Keep(1));
  CHECK(store.Keys(CurrentPrefix("images")) == Names{CurrentKey("images", 3)});
  store.Publish("g1");
  CHECK(ReadRemoteCurrent(&store, "images", Unbounded())->sequence() == 4);
}

TEST_CASE("a prune that is cut off anywhere is finished by the next, and keeps what is current") {
  bool cut = true;
  for (int allowed = 0; cut; ++allowed) {
    INFO(allowed);
    Store store;
    for (const char* name : {"g1", "g2", "g3"}) {
      store.Make(name);
      store.Publish(name);
    }
    store.now += kGrace;
    store.Prune(Keep(1));
    store.now += kGrace;
    int operations = 0;
    store.before = [&](const std::string&, const std::string&) {
      return operations++ < allowed ? absl::OkStatus() : absl::UnavailableError("cut off");
    };
    const auto first = PruneRemote(&store, "images", Keep(1), store.now, Unbounded());
    cut = !first.ok() || !first->problems.empty();
    store.before = nullptr;
    if (store.Has("g1") && store.Keys(GenerationPrefix("images", "g1")).size() < 6) {
      CHECK(store.Keys("indexes/images/generations/g1/manifest.json").empty());
    }
    CHECK(store.Prune(Keep(1)).problems.empty());
    CHECK(!store.Has("g1"));
    CHECK(!store.Has("g2"));
    CHECK(store.Keys(PrunedPrefix("images")).empty());
    CHECK(PublishRemote(&store, "images", "g3", store.now, Unbounded()).ok());
  }
}

TEST_CASE("a dry run says what a prune does, and does nothing") {
  Store store;
  for (const char* name : {"g1", "g2", "g3"}) {
    store.Make(name);
    store.Publish(name);
  }
  store.now += kGrace;
  store.Prune(Keep(2));
  store.now += kGrace;
  const auto before = store.Content();
  PruneOptions dry = Keep(1);
  dry.dry_run = true;
  const PruneSummary said = store.Prune(dry);
  CHECK(store.Content() == before);
  const PruneSummary done = store.Prune(Keep(1));
  CHECK(said.set_aside == done.set_aside);
  CHECK(said.deleted == done.deleted);
  CHECK(said.byte_count == done.byte_count);
}

TEST_CASE("an index that nobody published has nothing to prune") {
  Store store;
  CHECK(absl::IsNotFound(PruneRemote(&store, "images", Keep(1), store.now, Unbounded()).status()));
  CHECK(absl::IsInvalidArgument(
      PruneRemote(&store, "images", Keep(0), store.now, Unbounded()).status()));
}

}  // namespace
}  // namespace sightline
