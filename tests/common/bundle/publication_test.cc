#include "common/bundle/publication.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/files.h"
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
  CHECK(RollBackGeneration(store.path(), "images")->generation() == "g1");
}

TEST_CASE("a new generation after a rollback goes back to what was served, not to what was not") {
  TempDir store;
  for (const char* generation : {"g1", "g2", "g3"}) Make(store, generation);
  Publish(store, "g1");
  Publish(store, "g2");
  REQUIRE(RollBackGeneration(store.path(), "images").ok());
  Publish(store, "g3");
  CHECK(History(store) == "g3@4 <- g1@3 (g2@2)");
  CHECK(RollBackGeneration(store.path(), "images")->generation() == "g1");
}

TEST_CASE("the oldest publications are forgotten") {
  TempDir store;
  for (int i = 0; i < kMaxPublications + 3; ++i) {
    Make(store, absl::StrCat("g", i));
    Publish(store, absl::StrCat("g", i));
  }
  const auto current = ReadCurrent(store.path(), "images");
  REQUIRE(current.ok());
  CHECK(current->previous_size() == kMaxPublications);
  CHECK(current->previous(kMaxPublications - 1).generation() == "g2");
}

TEST_CASE("an index that nobody has made cannot be published, rolled back or pruned") {
  TempDir store;
  CHECK(absl::IsFailedPrecondition(PublishGeneration(store.path(), "images", "g1").status()));
  CHECK(absl::IsFailedPrecondition(RollBackGeneration(store.path(), "images").status()));
  CHECK(absl::IsFailedPrecondition(
      PruneGenerations(store.path(), "images", {}, absl::Now()).status()));
  CHECK(absl::IsInvalidArgument(RollBackGeneration(store.path(), "../images").status()));
}

using Names = std::vector<std::string>;

TEST_CASE("pruning keeps the last published, and removes all of the others") {
  TempDir store;
  for (const char* generation : {"g1", "g2", "g3", "g4"}) {
    Make(store, generation);
    Publish(store, generation);
  }
  PruneOptions options;
  options.keep = 2;
  options.dry_run = true;
  const std::string generations = JoinPath(IndexDirectory(store.path(), "images"), "generations");
  auto pruned = PruneGenerations(store.path(), "images", options, absl::Now());
  REQUIRE(pruned.ok());
  CHECK(pruned->removed == Names{"g1", "g2"});
  CHECK(ListDirectory(generations)->size() == 4);

  options.dry_run = false;
  pruned = PruneGenerations(store.path(), "images", options, absl::Now());
  REQUIRE(pruned.ok());
  CHECK(pruned->removed == Names{"g1", "g2"});
  CHECK(pruned->kept == Names{"g3", "g4"});
  CHECK(pruned->byte_count > 0);
  CHECK(*ListDirectory(generations) == Names{"g3", "g4"});
  CHECK(RollBackGeneration(store.path(), "images")->generation() == "g3");
}

TEST_CASE("what was rolled back goes before what somebody may go back to") {
  TempDir store;
  for (const char* generation : {"g1", "g2", "g3", "g4", "g5"}) {
    Make(store, generation);
    Publish(store, generation);
  }
  REQUIRE(RollBackGeneration(store.path(), "images").ok());
  REQUIRE(RollBackGeneration(store.path(), "images").ok());
  const auto pruned = PruneGenerations(store.path(), "images", {}, absl::Now());
  CHECK(pruned->kept == Names{"g1", "g2", "g3"});
  CHECK(pruned->removed == Names{"g4", "g5"});
}

TEST_CASE("a folder within a generation goes with it") {
  TempDir store;
  for (const char* generation : {"g1", "g2"}) {
    Make(store, generation);
    Publish(store, generation);
  }
  REQUIRE(MakeDirectories(JoinPath(GenerationDirectory(store.path(), "images", "g1"), "a/b")).ok());
  PruneOptions options;
  options.keep = 1;
  const auto pruned = PruneGenerations(store.path(), "images", options, absl::Now());
  CHECK(pruned->problems.empty());
  CHECK(!FileExists(GenerationDirectory(store.path(), "images", "g1")));
}

TEST_CASE("pruning leaves the present generation, however old") {
  TempDir store;
  for (const char* generation : {"g1", "g2"}) {
    Make(store, generation);
    Publish(store, generation);
  }
  REQUIRE(RollBackGeneration(store.path(), "images").ok());
  PruneOptions options;
  options.keep = 1;
  // Left by a publisher that was killed.
  const std::string half = JoinPath(IndexDirectory(store.path(), "images"), "CURRENT.x1y2z3.tmp");
  REQUIRE(WriteFileAtomically(half, "{").ok());
  const auto pruned = PruneGenerations(store.path(), "images", options, absl::Now());
  CHECK(!FileExists(half));
  CHECK(FileExists(JoinPath(IndexDirectory(store.path(), "images"), "CURRENT")));
  CHECK(pruned->kept == Names{"g1"});
  CHECK(pruned->removed == Names{"g2"});
}

TEST_CASE("what was never published is left alone for a day") {
  TempDir store;
  Make(store, "g1");
  Publish(store, "g1");
  Make(store, "ready");  // whole, about to be published
  const std::string generations = JoinPath(IndexDirectory(store.path(), "images"), "generations");
  REQUIRE(MakeDirectories(JoinPath(generations, "begun/shards")).ok());
  REQUIRE(WriteFileAtomically(JoinPath(generations, "begun/shards/0.vectors"), "x").ok());
  REQUIRE(MakeDirectories(JoinPath(generations, "Not a generation")).ok());

  auto pruned = PruneGenerations(store.path(), "images", {}, absl::Now());
  CHECK(pruned->kept == Names{"begun", "g1", "ready"});
  CHECK(pruned->removed.empty());
  pruned = PruneGenerations(store.path(), "images", {}, absl::Now() + absl::Hours(25));
  CHECK(pruned->removed == Names{"begun", "ready"});
  CHECK(*ListDirectory(generations) == Names{"Not a generation", "g1"});
}

TEST_CASE("at least one stays") {
  TempDir store;
  Make(store, "g1");
  Publish(store, "g1");
  PruneOptions options;
  options.keep = 0;
  CHECK(absl::IsInvalidArgument(
      PruneGenerations(store.path(), "images", options, absl::Now()).status()));
}

}  // namespace
}  // namespace sightline
