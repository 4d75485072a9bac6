#include "common/bundle/publication.h"

#include <unistd.h>

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/files.h"
#include "common/base/limits.h"
#include "common/bundle/generation.h"
#include "common/bundle/manifest.h"
#include "tests/common/bundle/items.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

void Make(const TempDir& store, const std::string& generation) {
  REQUIRE(WriteTestGeneration(store.path(), generation, 2, 1).ok());
}

// What CURRENT says: "g3@5 <- g2@4 (g1@1)", those rolled back in brackets.
std::string History(const TempDir& store) {
  const auto current = ReadCurrent(store.path(), "images");
  REQUIRE(current.ok());
  std::string text = absl::StrCat(current->generation(), "@", current->sequence(), " <-");
  for (const bundle::v1::Publication& p : current->previous()) {
    absl::StrAppend(&text, p.rolled_back() ? " (" : " ", p.generation(), "@", p.sequence(),
                    p.rolled_back() ? ")" : "");
  }
  return text;
}

void Publish(const TempDir& store, const std::string& generation) {
  REQUIRE(PublishGeneration(store.path(), "images", generation).ok());
}

TEST_CASE("a folder of copies adopts a later CURRENT of its store, and no other store's") {
  const TempDir store, copies;
  for (const char* name : {"g1", "g2", "g3"}) {
    Make(store, name);
    Make(copies, name);
  }
  Publish(store, "g1");
  const auto first = *ReadCurrent(store.path(), "images");
  REQUIRE(AdoptCurrent(copies.path(), "images", first).ok());
  CHECK(History(copies) == History(store));
  Publish(store, "g2");
  REQUIRE(RollBackGeneration(store.path(), "images").ok());
  const auto third = *ReadCurrent(store.path(), "images");
  REQUIRE(AdoptCurrent(copies.path(), "images", third).ok());
  CHECK(History(copies) == History(store));
  Publish(copies, "g3");  // by somebody else
  const std::string own = History(copies);
  CHECK(absl::IsFailedPrecondition(AdoptCurrent(copies.path(), "images", third)));
  CHECK(History(copies) == own);
}

TEST_CASE("CURRENT remembers what was published, each generation once, newest first") {
  TempDir store;
  for (const char* generation : {"g1", "g2", "g3"}) Make(store, generation);
  Publish(store, "g1");
  CHECK(History(store) == "g1@1 <-");
  Publish(store, "g2");
  Publish(store, "g3");
  CHECK(History(store) == "g3@3 <- g2@2 g1@1");
  Publish(store, "g3");
  CHECK(History(store) == "g3@4 <- g2@2 g1@1");
}

TEST_CASE("going back marks what was newer, and publishing it again unmarks it") {
  TempDir store;
  for (const char* generation : {"g1", "g2", "g3"}) {
    Make(store, generation);
    Publish(store, generation);
  }
  REQUIRE(RollBackGeneration(store.path(), "images").ok());
  CHECK(History(store) == "g2@4 <- (g3@3) g1@1");
  REQUIRE(RollBackGeneration(store.path(), "images").ok());
  CHECK(History(store) == "g1@5 <- (g2@4) (g3@3)");
  CHECK(absl::IsFailedPrecondition(RollBackGeneration(store.path(), "images").status()));
  CHECK(History(store) == "g1@5 <- (g2@4) (g3@3)");
  Publish(store, "g3");
  CHECK(History(store) == "g3@6 <- g1@5 (g2@4)");
  CHECK(RollBackGeneration(store.path(), "images")->current.generation() == "g1");
}

TEST_CASE("publishing an older one goes back by name, so that a rollback goes back from there") {
  TempDir store;
  for (const char* generation : {"g1", "g2", "g3"}) {
    Make(store, generation);
    Publish(store, generation);
  }
  Publish(store, "g2");
  CHECK(History(store) == "g2@4 <- (g3@3) g1@1");
  CHECK(RollBackGeneration(store.path(), "images")->current.generation() == "g1");
  const absl::Status end = RollBackGeneration(store.path(), "images").status();
  CHECK(absl::IsFailedPrecondition(end));
  CHECK(absl::StrContains(end.message(), "before g1 but what was rolled back (g2, g3)"));
}

TEST_CASE("a rollback from a generation can be repeated, and goes back from no other") {
  TempDir store;
  for (const char* generation : {"g1", "g2", "g3"}) {
    Make(store, generation);
    Publish(store, generation);
  }
  const auto back = [&](const std::string& from) {
    return RollBackGeneration(store.path(), "images", absl::Now(), from);
  };
  const absl::Status other = back("g2").status();
  CHECK(absl::IsFailedPrecondition(other));
  CHECK(absl::StrContains(other.message(), "current is g3 (sequence 3)"));
  CHECK(absl::IsFailedPrecondition(back("g9").status()));
  CHECK(History(store) == "g3@3 <- g2@2 g1@1");
  CHECK(!back("g3")->was_done);
  CHECK(back("g3")->was_done);
  CHECK(History(store) == "g2@4 <- (g3@3) g1@1");
  Publish(store, "g3");  // forward again, and back again
  CHECK(!back("g3")->was_done);
  CHECK(History(store) == "g2@6 <- (g3@5) g1@1");
}

TEST_CASE("a new generation after a rollback goes back to what was served, not to what was not") {
  TempDir store;
  for (const char* generation : {"g1", "g2", "g3"}) Make(store, generation);
  Publish(store, "g1");
  Publish(store, "g2");
  REQUIRE(RollBackGeneration(store.path(), "images").ok());
  Publish(store, "g3");
  CHECK(History(store) == "g3@4 <- g1@3 (g2@2)");
  CHECK(RollBackGeneration(store.path(), "images")->current.generation() == "g1");
}

TEST_CASE("the oldest publications are forgotten") {
  TempDir store;
  for (int i = 0; i < limits::kMaxPublications + 3; ++i) {
    Make(store, absl::StrCat("g", i));
    Publish(store, absl::StrCat("g", i));
  }
  const auto current = ReadCurrent(store.path(), "images");
  REQUIRE(current.ok());
  CHECK(current->previous_size() == limits::kMaxPublications);
  CHECK(current->previous(limits::kMaxPublications - 1).generation() == "g2");
}

TEST_CASE("an index that nobody has made cannot be published or rolled back") {
  TempDir store;
  CHECK(absl::IsFailedPrecondition(PublishGeneration(store.path(), "images", "g1").status()));
  CHECK(absl::IsFailedPrecondition(RollBackGeneration(store.path(), "images").status()));
  CHECK(absl::IsInvalidArgument(RollBackGeneration(store.path(), "../images").status()));
}

TEST_CASE("a generation of which a file lacks or is cut short is not published") {
  TempDir store;
  auto manifest = *WriteTestGeneration(store.path(), "g1", 2, 1);
  const std::string graph = *AddIndexFile(store.path(), 0, "a graph", &manifest);
  const std::string directory = GenerationDirectory(store.path(), "images", "g1");
  REQUIRE(::unlink(JoinPath(directory, kManifestFile).c_str()) == 0);
  REQUIRE(WriteGenerationManifest(store.path(), manifest).ok());
  REQUIRE(PublishGeneration(store.path(), "images", "g1").ok());
  for (const std::string& of : {JoinPath(directory, manifest.shards(0).vectors().path()),
                                JoinPath(directory, manifest.shards(0).features().path()), graph}) {
    const std::string whole = *ReadFile(of);
    const auto refused = [&](const std::string& why) {
      const absl::Status status = PublishGeneration(store.path(), "images", "g1").status();
      CAPTURE(status, why);
      CHECK(absl::IsFailedPrecondition(status));
      CHECK(absl::StrContains(status.message(), of));
    };
    REQUIRE(WriteFileAtomically(of, whole.substr(1)).ok());
    refused("cut short");
    REQUIRE(::unlink(of.c_str()) == 0);
    refused("missing");
    REQUIRE(WriteFileAtomically(of, whole).ok());
  }
  CHECK(PublishGeneration(store.path(), "images", "g1").ok());
}

TEST_CASE("CURRENT says when each was left") {
  TempDir store;
  for (const char* generation : {"g1", "g2"}) Make(store, generation);
  const absl::Time noon = absl::FromUnixSeconds(1'700'000'000);
  const auto publish = [&](const std::string& generation, absl::Time now) {
    return *PublishGeneration(store.path(), "images", generation, now);
  };
  publish("g1", noon);
  CHECK(publish("g2", noon + absl::Hours(1)).previous(0).leave_time() == "2023-11-14T23:13:20Z");
  CHECK(publish("g2", noon + absl::Hours(2)).previous(0).leave_time() == "2023-11-14T23:13:20Z");
  const auto rolled_back = RollBackGeneration(store.path(), "images", noon + absl::Hours(3));
  REQUIRE(rolled_back.ok());
  const auto* const back = &rolled_back->current;
  REQUIRE(back->previous_size() == 1);
  CHECK(back->previous(0).generation() == "g2");
  CHECK(back->previous(0).leave_time() == "2023-11-15T01:13:20Z");

  SECTION("of those that nobody noted, the next publication is as much as is known") {
    auto old = *back;
    old.mutable_previous(0)->clear_leave_time();
    REQUIRE(WriteFileAtomically(JoinPath(IndexDirectory(store.path(), "images"), "CURRENT"),
                                ManifestJson(old))
                .ok());
    CHECK(publish("g1", noon + absl::Hours(4)).previous(0).leave_time() == "2023-11-15T02:13:20Z");
  }
}

}  // namespace
}  // namespace sightline
