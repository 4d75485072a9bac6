// What the table tells of a generation while it is loaded.
#include "common/generations/load_stage.h"

#include <string>
#include <vector>

#include "common/base/random_access_file.h"
#include "tests/common/generations/follower_rig.h"

namespace sightline {
namespace {

constexpr absl::Duration kRelease = absl::Seconds(11);

std::string PathIn(const Rig& rig, const std::string& generation) {
  const auto manifest = ReadGenerationManifest(rig.store.path(), "images", generation);
  return rig.host.Files(*manifest).front();
}

void ReadSome(const std::string& path, int64_t bytes) {
  std::string to(static_cast<size_t>(bytes), '\0');
  const auto file = RandomAccessFile::Open(path);
  (void)(*file)->Read(0, bytes, to.data());
}

// What the table says of a generation while somebody reads of it.
struct Seen {
  HoldState state = HoldState::kRefused;
  LoadStage stage = LoadStage::kLoading;
  absl::Time since;
  ReadProgress::Bytes before, after;
};

Seen ReadAndSee(Rig* rig, const std::string& generation, int64_t bytes) {
  const auto entry = rig->Get(generation);
  Seen seen;
  if (!entry.has_value() || !entry->reading.has_value()) return seen;
  seen.state = entry->state;
  seen.stage = entry->reading->stage;
  seen.since = entry->reading->since;
  seen.before = entry->reading->progress->bytes();
  ReadSome(PathIn(*rig, generation), bytes);
  seen.after = entry->reading->progress->bytes();  // of the same entry: it is live
  return seen;
}

TEST_CASE("while a generation is loaded the table tells how much of its files was read") {
  Rig rig;
  std::vector<Seen> seen;
  rig.host.during_load = [&](const CallContext&) { seen.push_back(ReadAndSee(&rig, "g1", 1000)); };
  rig.MakeAndPublish("g1");
  rig.Pass();
  REQUIRE(seen.size() == 1);
  CHECK(seen[0].state == HoldState::kLoading);
  CHECK(seen[0].stage == LoadStage::kLoading);
  CHECK(seen[0].since == rig.clock.Now());
  CHECK(seen[0].before.done == 0);
  CHECK(seen[0].before.all == *FileSize(PathIn(rig, "g1")));
  CHECK(seen[0].after.done == 1000);
  REQUIRE(rig.Ready("g1"));
  CHECK_FALSE(rig.Get("g1")->reading.has_value());
  ReadSome(PathIn(rig, "g1"), 1000);  // nobody counts any more
}

TEST_CASE("what was refused is not being read, and another try begins at nothing") {
  Rig rig;
  std::vector<Seen> seen;
  rig.host.during_load = [&](const CallContext&) { seen.push_back(ReadAndSee(&rig, "g1", 1000)); };
  rig.host.load["g1"] = absl::UnavailableError("the disk is away");
  rig.MakeAndPublish("g1");
  rig.Pass();
  CHECK(rig.State("g1") == "UNAVAILABLE");
  CHECK_FALSE(rig.Get("g1")->reading.has_value());
  rig.host.load.clear();
  rig.Pass(absl::Minutes(1));
  REQUIRE(seen.size() == 2);
  CHECK(seen[1].state == HoldState::kLoading);
  CHECK(seen[1].before.done == 0);
  CHECK(seen[1].since == seen[0].since + absl::Minutes(1));
}

TEST_CASE("reading before there is room is a stage of its own") {
  Rig rig(150);  // one generation of 100
  std::vector<Seen> seen;
  rig.MakeAndPublish("g1");
  rig.Pass();
  rig.follower->NoteUses("router", {});  // and nothing is in use
  rig.host.during_verify = [&] { seen.push_back(ReadAndSee(&rig, "g2", 1000)); };
  rig.host.during_load = [&](const CallContext&) { seen.push_back(ReadAndSee(&rig, "g2", 500)); };
  rig.MakeAndPublish("g2");
  rig.clock.Advance(kRelease);
  rig.follower->NoteUses("router", {});
  rig.Pass();
  REQUIRE(rig.Ready("g2"));
  REQUIRE(seen.size() == 2);
  CHECK(seen[0].state == HoldState::kLoading);
  CHECK(seen[0].stage == LoadStage::kVerifying);
  CHECK(seen[0].after.done == 1000);
  CHECK(seen[1].stage == LoadStage::kLoading);
  CHECK(seen[1].before.done == 0);
  CHECK(seen[1].after.done == 500);
}

}  // namespace
}  // namespace sightline
