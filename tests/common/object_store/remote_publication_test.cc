#include "common/object_store/remote_publication.h"

#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/error_details.h"
#include "common/bundle/manifest.h"
#include "common/bundle/publication.h"
#include "common/object_store/object_keys.h"
#include "tests/common/object_store/memory_object_store.h"
#include "tests/common/object_store/stored_generations.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

using bundle::v1::CurrentGeneration;

const absl::Time kNow = absl::FromUnixSeconds(1'000'000'000);

absl::StatusOr<CurrentGeneration> Publish(MemoryObjectStore& store, const std::string& generation) {
  return PublishRemote(&store, "images", generation, kNow, Unbounded());
}

absl::StatusOr<Rollback> RollBack(MemoryObjectStore& store, const std::string& from = "") {
  return RollBackRemote(&store, "images", kNow, Unbounded(), from);
}

TEST_CASE("a store tells the history that a folder tells of the same publications") {
  MemoryObjectStore store;
  const TempDir folder;
  for (const char* name : {"g1", "g2", "g3"}) {
    MakeGeneration(folder.path(), name);
    MakeRemote(&store, name);
  }
  const auto same = [&](const CurrentGeneration& remote, const CurrentGeneration& local) {
    CHECK(ManifestJson(remote) == ManifestJson(local));
    CHECK(ManifestJson(*ReadRemoteCurrent(&store, "images", Unbounded())) == ManifestJson(local));
  };
  for (const char* name : {"g1", "g2", "g2", "g3", "<", "<", "g3", "g1", "g2"}) {
    INFO(name);
    if (name == std::string("<")) {
      same(RollBack(store)->current, RollBackGeneration(folder.path(), "images", kNow)->current);
    } else {
      same(*Publish(store, name), *PublishGeneration(folder.path(), "images", name, kNow));
    }
  }
  CHECK(store.Keys(CurrentPrefix("images")).size() == 9);  // a rollback is one as well
}

TEST_CASE("nothing is current before the first publication") {
  MemoryObjectStore store;
  CHECK(FindNewest(&store, "images", 0, Unbounded())->sequence == 0);
  CHECK(absl::IsNotFound(ReadRemoteCurrent(&store, "images", Unbounded()).status()));
  CHECK(absl::IsNotFound(RollBack(store).status()));
  MakeRemote(&store, "g1");
  REQUIRE(Publish(store, "g1").ok());
  CHECK(absl::IsFailedPrecondition(RollBack(store).status()));
}

TEST_CASE("of two who publish at one moment one goes through, and the other is told") {
  MemoryObjectStore store;
  MakeRemote(&store, "g1");
  MakeRemote(&store, "g2");
  // Both have seen the same before either writes.
  bool other_is_first = true;
  store.before = [&](const std::string& operation, const std::string&) {
    if (operation != "create" || !std::exchange(other_is_first, false)) return absl::OkStatus();
    REQUIRE(Publish(store, "g2").ok());
    return absl::OkStatus();
  };
  const auto loser = Publish(store, "g1");
  CHECK(absl::IsAborted(loser.status()));
  CHECK_THAT(std::string(loser.status().message()), Catch::Contains("CURRENT/0000000000000000001"));
  CHECK(ReadRemoteCurrent(&store, "images", Unbounded())->generation() == "g2");
}

TEST_CASE("a rollback does not undo what was published while it looked") {
  MemoryObjectStore store;
  for (const char* name : {"g1", "g2", "g3"}) MakeRemote(&store, name);
  REQUIRE(Publish(store, "g1").ok());
  REQUIRE(Publish(store, "g2").ok());
  bool first = true;
  store.before = [&](const std::string& operation, const std::string&) {
    if (operation == "create" && std::exchange(first, false)) REQUIRE(Publish(store, "g3").ok());
    return absl::OkStatus();
  };
  CHECK(absl::IsAborted(RollBack(store).status()));
  CHECK(ReadRemoteCurrent(&store, "images", Unbounded())->generation() == "g3");
}

TEST_CASE("a rollback from a generation can be repeated, and is done once") {
  MemoryObjectStore store;
  for (const char* name : {"g1", "g2", "g3"}) {
    MakeRemote(&store, name);
    REQUIRE(Publish(store, name).ok());
  }
  const auto first = RollBack(store, "g3");
  REQUIRE(first.ok());
  CHECK(first->current.generation() == "g2");
  CHECK(!first->was_done);
  const auto again = RollBack(store, "g3");
  REQUIRE(again.ok());
  CHECK(again->was_done);
  CHECK(ManifestJson(again->current) == ManifestJson(first->current));
  CHECK(store.Keys(CurrentPrefix("images")).size() == 4);
  CHECK(absl::IsFailedPrecondition(RollBack(store, "g1").status()));
}

TEST_CASE("many publishers at once get a sequence each, without a gap") {
  MemoryObjectStore store;
  MakeRemote(&store, "g1");
  std::vector<std::thread> publishers;
  for (int i = 0; i < 4; ++i) {
    publishers.emplace_back([&] {
      for (int published = 0; published < 5;) {
        const auto current = Publish(store, "g1");
        if (current.ok()) ++published;
        if (!current.ok() && !absl::IsAborted(current.status())) std::abort();
      }
    });
  }
  for (std::thread& publisher : publishers) publisher.join();
  CHECK(FindNewest(&store, "images", 0, Unbounded())->sequence == 20);
  CHECK(store.Keys(CurrentPrefix("images")).size() == 20);
}

TEST_CASE("what is known spares the list, and is found wrong after a restore") {
  MemoryObjectStore store;
  const auto put = [&](int64_t sequence) {
    CurrentGeneration current;
    current.set_generation(absl::StrCat("g", sequence));
    current.set_sequence(sequence);
    store.Put(CurrentKey("images", sequence), ManifestJson(current));
  };
  for (int64_t sequence = 1; sequence <= 2500; ++sequence) put(sequence);
  store.Put("indexes/images/CURRENT/zzz", "not ours");
  CHECK(FindNewest(&store, "images", 0, Unbounded())->sequence == 2500);
  CHECK(FindNewest(&store, "images", 2500, Unbounded())->sequence == 2500);
  put(2501);
  int lists = 0;
  store.before = [&](const std::string& operation, const std::string&) {
    lists += operation == "list" ? 1 : 0;
    return absl::OkStatus();
  };
  CHECK(FindNewest(&store, "images", 2500, Unbounded())->sequence == 2501);
  CHECK(lists == 1);
  CHECK(FindNewest(&store, "images", 9000, Unbounded())->sequence == 2501);
  CHECK(ReadPublication(&store, "images", 2501, Unbounded())->generation() == "g2501");
}

TEST_CASE("a publication that is damaged is said to be") {
  MemoryObjectStore store;
  store.Put(CurrentKey("images", 3), "{");
  CHECK(absl::IsDataLoss(ReadRemoteCurrent(&store, "images", Unbounded()).status()));
  store.Put(CurrentKey("images", 3), R"({"generation": "g", "sequence": "4"})");
  CHECK(absl::IsDataLoss(ReadRemoteCurrent(&store, "images", Unbounded()).status()));
}

TEST_CASE("what is not whole is not published") {
  MemoryObjectStore store;
  MakeRemote(&store, "g1");
  const auto content = store.Content();
  for (const auto& [key, bytes] : content) {
    if (key == "indexes/images/generations/g1/quarantine.jsonl") continue;  // for people
    INFO(key);
    REQUIRE(store.Remove(key, Unbounded()).ok());
    CHECK(absl::IsFailedPrecondition(Publish(store, "g1").status()));
    if (key.find("manifest.json") == std::string::npos) {
      store.Put(key, bytes.substr(1));
      CHECK(absl::IsFailedPrecondition(Publish(store, "g1").status()));
    }
    store.Put(key, bytes);
  }
  CHECK(store.Keys(CurrentPrefix("images")).empty());
  CHECK(Publish(store, "g1").ok());
}

TEST_CASE("a publication takes away the note by which a prune would delete the generation") {
  MemoryObjectStore store;
  MakeRemote(&store, "g1");
  const std::string note = absl::StrCat(PrunedPrefix("images"), "1000000000-g1");
  const std::string other = absl::StrCat(PrunedPrefix("images"), "1000000000-g2");
  store.Put(note, "");
  store.Put(other, "");
  CHECK(Publish(store, "g1").ok());
  CHECK(store.Keys(PrunedPrefix("images")) == std::vector<std::string>{other});
}

TEST_CASE("a generation that is deleted while it is published is said to be") {
  MemoryObjectStore store;
  MakeRemote(&store, "g1");
  store.before = [&](const std::string& operation, const std::string&) {
    if (operation == "create") {
      CHECK(store.Remove("indexes/images/generations/g1/manifest.json", Unbounded()).ok());
    }
    return absl::OkStatus();
  };
  CHECK(absl::IsAborted(Publish(store, "g1").status()));
}

TEST_CASE("who publishes with a sequence that was passed and pruned is told") {
  MemoryObjectStore store;
  for (const char* name : {"g1", "g2"}) MakeRemote(&store, name);
  REQUIRE(Publish(store, "g1").ok());
  bool slow = true;
  store.before = [&](const std::string& operation, const std::string&) {
    if (operation != "create" || !std::exchange(slow, false)) return absl::OkStatus();
    REQUIRE(Publish(store, "g2").ok());
    REQUIRE(Publish(store, "g2").ok());
    REQUIRE(store.Remove(CurrentKey("images", 2), Unbounded()).ok());
    return absl::OkStatus();
  };
  CHECK(absl::IsAborted(Publish(store, "g1").status()));
  CHECK(ReadRemoteCurrent(&store, "images", Unbounded())->generation() == "g2");
}

TEST_CASE("trouble that may pass is passed on as it is") {
  MemoryObjectStore store;
  MakeRemote(&store, "g1");
  for (const char* fails : {"list", "read", "stat", "create"}) {
    INFO(fails);
    store.before = [&](const std::string& operation, const std::string&) {
      return operation == fails ? absl::UnavailableError("away") : absl::OkStatus();
    };
    CHECK(absl::IsUnavailable(Publish(store, "g1").status()));
  }
}

}  // namespace
}  // namespace sightline
