#include "common/bundle/prune.h"

#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/files.h"
#include "common/bundle/generation.h"
#include "common/bundle/manifest.h"
#include "common/bundle/publication.h"
#include "tests/common/bundle/items.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

using Names = std::vector<std::string>;

constexpr absl::Duration kGrace = absl::Hours(24);
const absl::Time kStart = absl::FromUnixSeconds(1'700'000'000);

// A store whose publications are an hour apart, at a time that the test moves.
struct Store {
  void Make(const std::string& generation) {
    REQUIRE(WriteTestGeneration(dir.path(), generation, 2, 1).ok());
  }
  void Publish(const std::string& generation) {
    now += absl::Hours(1);
    REQUIRE(PublishGeneration(dir.path(), "images", generation, now).ok());
  }
  void MakeAndPublish(const Names& generations) {
    for (const std::string& generation : generations) {
      Make(generation);
      Publish(generation);
    }
  }
  void RollBack() {
    now += absl::Hours(1);
    REQUIRE(RollBackGeneration(dir.path(), "images", now).ok());
  }
  absl::StatusOr<PruneSummary> TryPrune(const PruneOptions& options,
                                        const FolderRemover& remove = RemoveGenerationFolder) {
    return PruneGenerations(dir.path(), "images", options, now, elsewhere, remove);
  }
  PruneSummary Prune(const PruneOptions& options = {},
                     const FolderRemover& remove = RemoveGenerationFolder) {
    auto summary = TryPrune(options, remove);
    REQUIRE(summary.ok());
    return *std::move(summary);
  }
  std::string Path(const std::string& name) {
    return JoinPath(IndexDirectory(dir.path(), "images"), name);
  }
  Names There() { return *ListDirectory(Path("generations")); }
  size_t AsideCount() { return ListDirectory(Path(".pruned"))->size(); }

  TempDir dir;
  absl::Time now = kStart;
  absl::optional<bundle::v1::CurrentGeneration> elsewhere;  // published there
};

PruneOptions Keep(int keep) {
  PruneOptions options;
  options.keep = keep;
  return options;
}

TEST_CASE("a folder that holds copies keeps what the other store keeps") {
  Store store;
  bundle::v1::CurrentGeneration current;
  for (const char* const generation : {"g1", "g2", "g3", "g4"}) {
    store.Make(generation);
    store.now += absl::Hours(1);
    current = CurrentAfter(current, generation, store.now);
  }
  store.now += kGrace;
  CHECK_FALSE(store.TryPrune(Keep(2)).ok());  // nobody tells what was published
  store.elsewhere = current;
  CHECK(store.Prune(Keep(2)).set_aside == Names{"g1", "g2"});
  CHECK(store.There() == Names{"g3", "g4"});

  // A folder with a history of its own keeps what either keeps.
  Store both;
  both.MakeAndPublish({"h1", "h2", "h3", "g4"});
  both.now += kGrace;
  both.elsewhere = CurrentAfter(current, "h1", both.now);
  CHECK(both.Prune(Keep(1)).set_aside == Names{"h2", "h3"});
  CHECK(both.There() == Names{"g4", "h1"});
}

TEST_CASE("what is old is set aside at first, and deleted after the grace") {
  Store store;
  store.MakeAndPublish({"g1", "g2", "g3", "g4"});
  store.now += kGrace;
  PruneOptions options = Keep(2);
  options.dry_run = true;
  CHECK(store.Prune(options).set_aside == Names{"g1", "g2"});
  CHECK(store.There().size() == 4);

  PruneSummary pruned = store.Prune(Keep(2));
  CHECK(pruned.set_aside == Names{"g1", "g2"});
  CHECK(pruned.kept == Names{"g3", "g4"});
  CHECK(pruned.deleted.empty());
  REQUIRE(pruned.waiting.size() == 2);
  CHECK(pruned.waiting[0].delete_time == store.now + kGrace);
  CHECK(store.There() == Names{"g3", "g4"});

  store.now += kGrace - absl::Seconds(1);
  CHECK(store.Prune(Keep(2)).deleted.empty());
  CHECK(store.AsideCount() == 2);
  store.now += absl::Seconds(1);
  options.dry_run = true;
  CHECK(store.Prune(options).deleted == Names{"g1", "g2"});
  CHECK(store.AsideCount() == 2);
  pruned = store.Prune(Keep(2));
  CHECK(pruned.deleted == Names{"g1", "g2"});
  CHECK(pruned.byte_count > 0);
  CHECK(store.AsideCount() == 0);
  CHECK(RollBackGeneration(store.dir.path(), "images")->current.generation() == "g3");
}

TEST_CASE("what CURRENT has just left stays in its place, rolled back or not") {
  Store store;
  store.MakeAndPublish({"g1", "g2", "g3"});
  const bool rolled_back = GENERATE(true, false);
  if (rolled_back) {
    store.RollBack();  // g2
  } else {
    store.MakeAndPublish({"g4"});
  }
  store.now += kGrace - absl::Seconds(1);
  const std::string present = rolled_back ? "g2" : "g4";
  const Names last = rolled_back ? Names{"g2", "g3"} : Names{"g3", "g4"};
  // g3 was left less than the grace ago; g1 and, before g4, g2 more.
  CHECK(store.Prune(Keep(1)).kept == last);
  // So whoever sees CURRENT as it was, or goes forward again, finds it.
  CHECK(ReadGenerationManifest(store.dir.path(), "images", "g3").ok());
  store.now += absl::Seconds(1);
  CHECK(store.Prune(Keep(1)).kept == Names{present});
}

TEST_CASE("the time at which it was left counts, not how often others were published since") {
  Store store;
  store.MakeAndPublish({"g1", "g2"});
  store.RollBack();
  store.now += kGrace - absl::Hours(1);
  store.MakeAndPublish({"g3"});  // on the hour at which g2 has been left for the grace
  CHECK(store.Prune(Keep(1)).kept == Names{"g1", "g3"});
}

TEST_CASE("where nobody noted when a generation was left, CURRENT's own age counts") {
  Store store;
  store.MakeAndPublish({"g1", "g2"});
  auto current = *ReadCurrent(store.dir.path(), "images");
  current.mutable_previous(0)->set_leave_time(GENERATE(as<std::string>{}, "", "yesterday"));
  REQUIRE(WriteFileAtomically(store.Path("CURRENT"), ManifestJson(current)).ok());
  store.now = absl::Now() + kGrace - absl::Minutes(1);
  CHECK(store.Prune(Keep(1)).kept == Names{"g1", "g2"});
  store.now = absl::Now() + kGrace + absl::Minutes(1);
  CHECK(store.Prune(Keep(1)).kept == Names{"g2"});
}

TEST_CASE("clocks that disagree shorten no grace, and without a grace nothing waits") {
  Store store;
  store.MakeAndPublish({"g1", "g2"});
  store.now = kStart - absl::Hours(1000);
  CHECK(store.Prune(Keep(1)).kept == Names{"g1", "g2"});
  PruneOptions at_once = Keep(1);
  at_once.grace = absl::ZeroDuration();
  const PruneSummary pruned = store.Prune(at_once);
  CHECK(pruned.set_aside == Names{"g1"});
  CHECK(pruned.deleted == Names{"g1"});
  CHECK(pruned.waiting.empty());
}

TEST_CASE("what was rolled back goes before what somebody may go back to") {
  Store store;
  store.MakeAndPublish({"g1", "g2", "g3", "g4", "g5"});
  store.RollBack();
  store.RollBack();
  store.now += kGrace;
  const PruneSummary pruned = store.Prune();
  CHECK(pruned.kept == Names{"g1", "g2", "g3"});
  CHECK(pruned.set_aside == Names{"g4", "g5"});
}

TEST_CASE("a rollback goes through while a prune deletes, however long that takes") {
  Store store;
  store.MakeAndPublish({"g1", "g2", "g3"});
  store.now += kGrace;
  store.Prune(Keep(2));
  store.now += kGrace;
  absl::Status published, pruned_meanwhile;
  const auto remove = [&](const std::string& directory) {
    published = RollBackGeneration(store.dir.path(), "images", store.now).status();
    pruned_meanwhile = store.TryPrune(Keep(2)).status();
    return RemoveGenerationFolder(directory);
  };
  CHECK(store.Prune(Keep(2), remove).deleted == Names{"g1"});
  CHECK(published.ok());
  CHECK(ReadCurrent(store.dir.path(), "images")->generation() == "g2");
  CHECK(absl::IsAborted(pruned_meanwhile));  // two would delete the same
}

TEST_CASE("a deletion that fails or is cut off is told, and finished by the next prune") {
  Store store;
  store.MakeAndPublish({"g1", "g2"});
  store.now += kGrace;
  store.Prune(Keep(1));
  store.now += kGrace;
  const bool begun = GENERATE(true, false);
  const auto broken = [&](const std::string& directory) -> absl::Status {
    if (begun) REQUIRE(::unlink(JoinPath(directory, kManifestFile).c_str()) == 0);
    return absl::UnavailableError("the disk is away");
  };
  PruneSummary pruned = store.Prune(Keep(1), broken);
  CHECK(pruned.deleted.empty());
  CHECK(pruned.byte_count == 0);
  REQUIRE(pruned.problems.size() == 1);
  CHECK(pruned.problems[0].message() == "the disk is away");
  CHECK(store.AsideCount() == 1);
  CHECK(RollBackGeneration(store.dir.path(), "images").status().code() ==
        absl::StatusCode::kFailedPrecondition);  // it is gone, and nothing else is
  CHECK(store.Prune(Keep(1)).deleted == Names{"g1"});
  CHECK(store.AsideCount() == 0);
}

TEST_CASE("who has files of a generation open reads on when it is set aside") {
  Store store;
  store.MakeAndPublish({"g1", "g2"});
  const auto manifest = *ReadGenerationManifest(store.dir.path(), "images", "g1");
  const std::string path = JoinPath(GenerationDirectory(store.dir.path(), "images", "g1"),
                                    manifest.shards(0).vectors().path());
  struct stat before, after;
  REQUIRE(::stat(path.c_str(), &before) == 0);
  store.now += kGrace;
  REQUIRE(store.Prune(Keep(1)).set_aside == Names{"g1"});
  const std::string aside =
      JoinPath(store.Path(".pruned"), *ListDirectory(store.Path(".pruned"))->begin());
  REQUIRE(::stat(JoinPath(aside, manifest.shards(0).vectors().path()).c_str(), &after) == 0);
  CHECK(after.st_ino == before.st_ino);  // the file itself, not a copy
  CHECK(after.st_size == manifest.shards(0).vectors().byte_count());
}

TEST_CASE("a generation made again under its name is set aside beside the first one") {
  Store store;
  store.MakeAndPublish({"g1", "g2"});
  store.now += kGrace;
  REQUIRE(store.Prune(Keep(1)).set_aside == Names{"g1"});
  store.MakeAndPublish({"g1", "g3"});
  store.now += kGrace - absl::Hours(1);
  const PruneSummary pruned = store.Prune(Keep(1));
  CHECK(pruned.deleted == Names{"g1"});
  CHECK(pruned.kept == Names{"g1", "g3"});
  store.now += absl::Hours(1);
  CHECK(store.Prune(Keep(1)).set_aside == Names{"g1"});
}

TEST_CASE("what is none of prune's stays where it lies") {
  Store store;
  store.MakeAndPublish({"g1", "g2"});
  for (const char* path : {"generations/Not a generation", ".pruned/g1", ".pruned/x-g1",
                           ".pruned/1700000000-Not a generation"}) {
    REQUIRE(MakeDirectories(store.Path(path)).ok());
  }
  store.now += 10 * kGrace;
  store.Prune(Keep(1));
  store.now += 10 * kGrace;
  CHECK(store.Prune(Keep(1)).deleted == Names{"g1"});
  CHECK(store.AsideCount() == 3);
  CHECK(store.There() == Names{"Not a generation", "g2"});
}

TEST_CASE("a folder within a generation goes with it") {
  Store store;
  store.MakeAndPublish({"g1", "g2"});
  REQUIRE(MakeDirectories(store.Path("generations/g1/a/b")).ok());
  PruneOptions options = Keep(1);
  options.grace = absl::ZeroDuration();
  CHECK(store.Prune(options).problems.empty());
  CHECK(store.AsideCount() == 0);
}

TEST_CASE("pruning leaves the present generation, however old, and clears up after publishers") {
  Store store;
  store.MakeAndPublish({"g1", "g2"});
  store.RollBack();
  store.now += 10 * kGrace;
  // Left by a publisher that was killed.
  const std::string half = store.Path("CURRENT.x1y2z3.tmp");
  REQUIRE(WriteFileAtomically(half, "{").ok());
  const PruneSummary pruned = store.Prune(Keep(1));
  CHECK(!FileExists(half));
  CHECK(FileExists(store.Path("CURRENT")));
  CHECK(pruned.kept == Names{"g1"});
  CHECK(pruned.set_aside == Names{"g2"});
}

TEST_CASE("what was never published is left alone for a day") {
  Store store;
  store.MakeAndPublish({"g1"});
  store.Make("ready");  // whole, about to be published
  REQUIRE(MakeDirectories(store.Path("generations/begun/shards")).ok());
  REQUIRE(WriteFileAtomically(store.Path("generations/begun/shards/0.vectors"), "x").ok());

  store.now = absl::Now();
  PruneSummary pruned = store.Prune();
  CHECK(pruned.kept == Names{"begun", "g1", "ready"});
  CHECK(pruned.set_aside.empty());
  store.now += absl::Hours(25);
  pruned = store.Prune();
  CHECK(pruned.set_aside == Names{"begun", "ready"});
  CHECK(store.There() == Names{"g1"});
}

TEST_CASE("an index that nobody has made cannot be pruned, and options have bounds") {
  Store store;
  CHECK(absl::IsFailedPrecondition(store.TryPrune({}).status()));
  store.MakeAndPublish({"g1"});
  CHECK(absl::IsInvalidArgument(store.TryPrune(Keep(0)).status()));
  PruneOptions negative;
  negative.grace = -absl::Seconds(1);
  CHECK(absl::IsInvalidArgument(store.TryPrune(negative).status()));
}

}  // namespace
}  // namespace sightline
