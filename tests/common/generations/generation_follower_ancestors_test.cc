// What the follower serves in the place of a published generation that is refused.
#include <string>
#include <utility>
#include <vector>

#include "common/base/error_details.h"
#include "common/base/files.h"
#include "common/bundle/generation.h"
#include "common/bundle/manifest.h"
#include "common/bundle/prune.h"
#include "common/bundle/publication.h"
#include "tests/common/generations/follower_rig.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

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

TEST_CASE("a cold start serves the newest good ancestor, and not one that was rolled back") {
  Rig rig;
  for (const char* generation : {"g1", "g2", "g3", "g4"}) rig.MakeAndPublish(generation);
  REQUIRE(RollBackGeneration(rig.store.path(), "images").ok());  // g3; g4 is rolled back
  rig.host.verify["g3"] = kDamaged;

  SECTION("the one before") {
    rig.Pass();
    CHECK(rig.State("g3") == reasons::kChecksumMismatch.name);
    CHECK(rig.Ready("g2"));
    CHECK(rig.Get("g2")->sequence == 2);
    CHECK(rig.State("g4").empty());
    rig.Pass();
    CHECK(rig.host.loaded == std::vector<std::string>{"g2"});
  }
  SECTION("or the one before that") {
    rig.host.load["g2"] = MakeError(reasons::kRecallTooLow, "finds little");
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

TEST_CASE("what was pruned is no ancestor") {
  Rig rig;
  for (const char* generation : {"g1", "g2", "g3"}) rig.MakeAndPublish(generation);
  PruneOptions prune;
  prune.keep = 1;
  prune.grace = absl::ZeroDuration();
  REQUIRE(PruneGenerations(rig.store.path(), "images", prune, absl::Now()).ok());
  rig.host.verify["g3"] = kDamaged;
  rig.Pass();
  CHECK(rig.State("g3") == reasons::kChecksumMismatch.name);
  CHECK(rig.State("g2").empty());
}

TEST_CASE("an ancestor that fails for a moment is not passed over for good") {
  Rig rig;
  for (const char* generation : {"g1", "g2", "g3"}) rig.MakeAndPublish(generation);
  rig.host.verify["g3"] = kDamaged;
  const bool at_start = GENERATE(false, true);
  if (!at_start) {
    rig.Pass();
    REQUIRE(rig.Ready("g2"));
    rig.clock.Advance(absl::Minutes(1));
    rig.Fail("g2", kUnreadable);
  }
  rig.host.load["g2"] = kUnreadable;
  rig.Pass();
  CHECK(rig.State("g2") == reasons::kReadFailed.name);
  CHECK(rig.State("g1").empty());

  SECTION("it is over") {
    rig.host.load.clear();
    rig.Pass(absl::Seconds(1));
    CHECK(rig.Ready("g2"));
    CHECK(rig.Get("g2")->sequence == 2);
    CHECK(rig.State("g1").empty());
  }
  SECTION("it lasts, and an older one is served until it is over") {
    rig.Pass(absl::Seconds(1));
    rig.Pass(absl::Seconds(2));
    CHECK(rig.State("g2") == reasons::kReadFailed.name);
    CHECK(rig.Ready("g1"));
    rig.Pass(absl::Seconds(4));
    CHECK(rig.State("g2") == reasons::kReadFailed.name);
    rig.host.load.clear();
    rig.Pass(absl::Seconds(8));
    CHECK(rig.Ready("g2"));
    CHECK(rig.Ready("g1"));
    rig.Pass(absl::Seconds(10));
    CHECK(!rig.Ready("g1"));
    rig.Pass();
    CHECK(rig.Ready("g2"));
  }
}

TEST_CASE("parents stand in for each other without going round in circles") {
  Rig rig;
  for (const char* generation : {"g1", "g2", "g3"}) rig.Make(generation);
  for (const auto& [child, parent] : {std::pair("g2", "g1"), std::pair("g3", "g2")}) {
    auto manifest = *ReadGenerationManifest(rig.store.path(), "images", child);
    manifest.set_parent_generation(parent);
    REQUIRE(WriteFileAtomically(
                JoinPath(GenerationDirectory(rig.store.path(), "images", child), "manifest.json"),
                ManifestJson(manifest))
                .ok());
  }
  rig.Publish("g3");
  rig.host.verify["g3"] = kDamaged;
  rig.host.load["g2"] = kUnreadable;
  for (const int seconds : {0, 1, 2}) rig.Pass(absl::Seconds(seconds));
  CHECK(rig.Ready("g1"));
  rig.host.load.clear();
  for (int i = 0; i < 5; ++i) rig.Pass(absl::Seconds(10));
  CHECK(rig.Ready("g2"));
  CHECK(!rig.Ready("g1"));
  CHECK(rig.host.loaded == std::vector<std::string>{"g2", "g2", "g2", "g1", "g2"});
}

}  // namespace
}  // namespace sightline
