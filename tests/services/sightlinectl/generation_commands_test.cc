#include "services/sightlinectl/generation_commands.h"

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "common/base/error_details.h"
#include "common/base/files.h"
#include "common/bundle/generation.h"
#include "common/bundle/publication.h"
#include "services/sightlinectl/command.h"
#include "tests/common/bundle/items.h"
#include "tests/services/sightlinectl/ran.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tiny_store.h"

namespace sightline {
namespace {

Ran Run(std::vector<std::string> args, const std::string& store) {
  args.insert(args.end(), {"--store", store});
  return RanBy(&RunCommand, args);
}

TEST_CASE("publishing, and back again, step by step") {
  TempDir store;
  for (const char* generation : {"g1", "g2", "g3"}) {
    REQUIRE(WriteTestGeneration(store.path(), generation, 3, 1).ok());
    REQUIRE(Run({"publish", "images", generation}, store.path()).status == 0);
  }
  CHECK(Run({"rollback", "images"}, store.path()).out == "images is now g2 (sequence 4)\n");
  CHECK(Run({"rollback", "images"}, store.path()).out == "images is now g1 (sequence 5)\n");
  const Ran end = Run({"rollback", "images"}, store.path());
  CHECK(end.status == 1);
  CHECK(absl::StrContains(end.err, "nothing was published for index 'images' before g1"));
  CHECK(Run({"publish", "images", "g3"}, store.path()).out == "images is now g3 (sequence 6)\n");
}

TEST_CASE("publishing an older one goes back by name, and says from what") {
  TempDir store;
  for (const char* generation : {"g1", "g2", "g3", "g1"}) {
    REQUIRE(WriteTestGeneration(store.path(), generation, 3, 1).ok());
    const Ran published = Run({"publish", "images", generation}, store.path());
    REQUIRE(published.status == 0);
    CHECK(published.err ==
          (published.out.find("(sequence 4)") == std::string::npos ? "" : "rolled back: g3, g2\n"));
  }
  CHECK(Run({"rollback", "images"}, store.path()).status == 1);
}

TEST_CASE("pruning tells what goes, what waits and what stays") {
  TempDir store;
  for (const char* generation : {"g1", "g2", "g3"}) {
    REQUIRE(WriteTestGeneration(store.path(), generation, 3, 1).ok());
    REQUIRE(PublishGeneration(store.path(), "images", generation, absl::UnixEpoch()).ok());
  }
  CHECK(Run({"prune", "images", "--keep", "2", "--dry-run"}, store.path()).out ==
        "would have set aside g1; kept g2, g3\n");
  const Ran aside = Run({"prune", "images", "--keep", "2"}, store.path());
  CHECK(absl::StartsWith(aside.out, "set aside g1; kept g2, g3\ng1 lies aside; a prune after 20"));
  CHECK(absl::EndsWith(aside.out, "Z deletes it\n"));
  const Ran waiting = Run({"prune", "images", "--keep", "2", "--grace", "1h"}, store.path());
  CHECK(absl::StartsWith(waiting.out, "nothing to remove; kept g2, g3\ng1 lies aside; "));
  // The second of the name is past by then, however quick the test is.
  const Ran deleted = Run({"prune", "images", "--keep", "2", "--grace", "1ns"}, store.path());
  CHECK(absl::StartsWith(deleted.out, "deleted g1 ("));
  CHECK(absl::EndsWith(deleted.out, " bytes); kept g2, g3\n"));
  CHECK(Run({"prune", "images", "--keep", "2"}, store.path()).out ==
        "nothing to remove; kept g2, g3\n");
  CHECK(Run({"prune", "images", "--keep", "0"}, store.path()).status == 2);
  CHECK(Run({"prune", "images", "--grace", "0s"}, store.path()).status == 2);
}

TEST_CASE("before the first publication there is nothing to prune, and that is no failure") {
  TempDir store;
  const Ran nowhere = Run({"prune", "images"}, store.path());
  CHECK(nowhere.status == 0);
  CHECK(nowhere.out ==
        "nothing to remove: index 'images' was never published in " + store.path() + "\n");
  REQUIRE(WriteTestGeneration(store.path(), "g1", 3, 1).ok());
  CHECK(Run({"prune", "images"}, store.path()).status == 0);
  CHECK(FileExists(GenerationDirectory(store.path(), "images", "g1")));

  const Ran no_store = Run({"prune", "images"}, store.File("nowhere"));
  CHECK(no_store.status == 1);
  CHECK(absl::StrContains(no_store.err, "there is no store " + store.File("nowhere")));
  CHECK(Run({"prune", "no/index"}, store.path()).status == 1);
}

TEST_CASE("a damaged CURRENT is no unpublished index") {
  TempDir store;
  REQUIRE(WriteTestGeneration(store.path(), "g1", 3, 1).ok());
  REQUIRE(PublishGeneration(store.path(), "images", "g1", absl::UnixEpoch()).ok());
  REQUIRE(WriteFileAtomically(store.File("indexes/images/CURRENT"), "{").ok());
  CHECK(Run({"prune", "images"}, store.path()).status == 1);
}

TEST_CASE("what was just rolled back from is left where it is") {
  TempDir store;
  for (const char* generation : {"g1", "g2"}) {
    REQUIRE(WriteTestGeneration(store.path(), generation, 3, 1).ok());
    REQUIRE(Run({"publish", "images", generation}, store.path()).status == 0);
  }
  REQUIRE(Run({"rollback", "images"}, store.path()).status == 0);
  CHECK(Run({"prune", "images", "--keep", "1"}, store.path()).out ==
        "nothing to remove; kept g1, g2\n");
}

TEST_CASE("verifying reads every byte of a generation and of its model") {
  TempDir dir;
  const TinyStore store = MakeTinyStore(dir.path(), 6);
  const Ran whole = Run({"verify", kTinyImages}, store.path);
  INFO(whole.err);
  CHECK(whole.status == 0);
  CHECK(absl::StartsWith(whole.out, "images g1 is whole: 6 files, "));
  CHECK(absl::StrContains(whole.out, ", 1 model\n"));

  SECTION("a damaged shard") {
    const std::string file = JoinPath(GenerationDirectory(store.path, kTinyImages, kTinyGeneration),
                                      "shards/00001-of-00002.vectors");
    std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
    stream.seekp(4096);
    stream.put('\x7f');
    stream.close();
    const Ran damaged = Run({"verify", kTinyImages, kTinyGeneration}, store.path);
    CHECK(damaged.status == 1);
    CHECK(absl::StrContains(damaged.err, reasons::kChecksumMismatch.name));
    CHECK(absl::StrContains(damaged.err, file));
  }
  SECTION("a damaged model") {
    const std::string file =
        JoinPath(ModelDirectory(store.path, store.model->id()), "weights.safetensors");
    const std::string bytes = *ReadFile(file);
    REQUIRE(WriteFileAtomically(file, bytes.substr(0, bytes.size() - 1) + "\x7f").ok());
    CHECK(Run({"verify", kTinyImages}, store.path).status == 1);
  }
  SECTION("a generation that is not there") {
    const Ran missing = Run({"verify", kTinyImages, "g9"}, store.path);
    CHECK(missing.status == 1);
    CHECK(absl::StrContains(missing.err, reasons::kManifestMissing.name));
  }
}

TEST_CASE("a command line without store or index is told what is missing") {
  for (const std::vector<std::string>& args : std::vector<std::vector<std::string>>{
           {"rollback"}, {"prune"}, {"verify"}, {"publish", "images"}, {"verify", "a", "b", "c"}}) {
    std::ostringstream out, err;
    CHECK(RunCommand(args, {out, err}) == 2);
    CHECK(absl::StrContains(err.str(), "--store DIR"));
  }
}

}  // namespace
}  // namespace sightline
