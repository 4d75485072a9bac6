#include "common/generations/current_view.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/files.h"
#include "common/bundle/layout.h"
#include "tests/support/captured_log.h"
#include "tests/support/catch.h"
#include "tests/support/fake_clock.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

using Catch::Contains;

constexpr absl::Duration kRestoredAfter = absl::Minutes(2);

// A view of an index whose CURRENT the test writes.
struct Rig {
  Rig() { REQUIRE(MakeDirectories(IndexDirectory(store.path(), "images")).ok()); }

  void Write(const std::string& json) {
    const std::string path = JoinPath(IndexDirectory(store.path(), "images"), "CURRENT");
    REQUIRE(WriteFileAtomically(path, json).ok());
  }
  void Write(const std::string& generation, int sequence, bool rollback = false) {
    Write(absl::StrCat("{\"generation\": \"", generation, "\", \"sequence\": ", sequence,
                       ", \"previous\": [{\"generation\": \"before\", \"sequence\": 0",
                       rollback ? ", \"rolled_back\": true" : "", "}]}"));
  }
  // What is asked for `after` a while: "g2@2", or "".
  std::string Look(absl::Duration after = absl::ZeroDuration()) {
    clock.Advance(after);
    view.Look("images");
    const auto wanted = view.Get("images");
    if (!wanted.has_value()) return "";
    return absl::StrCat(wanted->current.generation(), "@", wanted->current.sequence());
  }

  TempDir store;
  FakeClock clock;
  // What brings CURRENT up to date, or does not.
  struct Source : GenerationSource {
    absl::Status FetchCurrent(const std::string&, const CallContext&) override { return status; }
    absl::Status status;
  } source;
  const CallContext call{&clock, absl::InfiniteFuture()};
  CurrentView view{store.path(), &source, kRestoredAfter, &clock, call};
};

TEST_CASE("a CURRENT that cannot be brought up to date is asked for as it was") {
  Rig rig;
  rig.Write("g5", 5);
  rig.source.status = absl::UnavailableError("away");
  CHECK(rig.Look() == "g5@5");
  CHECK(rig.view.Sequence("images") == -1);
  rig.source.status = absl::OkStatus();
  CHECK(rig.Look() == "g5@5");
  CHECK(rig.view.Sequence("images") == 5);
  rig.source.status = absl::NotFoundError("emptied");
  CHECK(rig.Look() == "g5@5");
}

TEST_CASE("trouble with CURRENT is told as long as it lasts, and logged once as is its end") {
  Rig rig;
  const auto told = [&] {
    const std::vector<IndexStatus> all = rig.view.Describe();
    REQUIRE(all.size() == 1);
    CHECK(all[0].index == "images");
    return absl::StrCat(all[0].generation, "@", all[0].sequence, " ", all[0].error);
  };
  const auto look = [&] {
    CapturedLog log;
    for (int i = 0; i < 3; ++i) rig.Look(absl::Seconds(1));
    const std::vector<std::string> lines = log.Take();
    REQUIRE(lines.size() <= 1);
    return lines.empty() ? "" : lines[0];
  };
  CHECK(rig.view.Describe().empty());
  rig.source.status = absl::NotFoundError("nothing in s3://bucket");
  CHECK_THAT(look(), Contains("WARNING") && Contains("published yet") && Contains("s3://bucket"));
  CHECK(told() == "@0 NOT_FOUND: nothing in s3://bucket");
  rig.source.status = absl::OkStatus();
  rig.Write("g5", 5);
  CHECK_THAT(look(), Contains("INFO") && Contains("CURRENT is up to date"));
  CHECK(told() == "g5@5 ");
  CHECK(look().empty());
  rig.source.status = absl::UnavailableError("s3://bucket is away");
  CHECK_THAT(look(), Contains("ERROR") && Contains("s3://bucket is away"));
  CHECK(told() == "g5@5 UNAVAILABLE: s3://bucket is away");
  rig.source.status = absl::NotFoundError("nothing in s3://bucket");
  CHECK_THAT(look(), Contains("WARNING") && Contains("gone") && Contains("s3://bucket"));
  rig.source.status = absl::OkStatus();
  CHECK_THAT(look(), Contains("INFO") && Contains("CURRENT is up to date"));
  CHECK(told() == "g5@5 ");
  rig.Write("{");
  CHECK_THAT(look(), Contains("ERROR") && Contains(rig.store.path()));
}

TEST_CASE("a look whose call has ended changes nothing and says nothing") {
  Rig rig;
  rig.Write("g5", 5);
  rig.Look();
  rig.call.cancellation()->Cancel();
  rig.source.status = absl::CancelledError("the caller went away");
  rig.Write("g6", 6);
  CapturedLog log;
  CHECK(rig.Look() == "g5@5");
  CHECK(rig.view.Describe()[0].error.empty());
  CHECK(log.Take().empty());
}

TEST_CASE("what is newer is asked for at once, and what is as old as ever at the start") {
  Rig rig;
  CHECK(rig.Look().empty());
  CHECK(rig.view.Sequence("images") == 0);
  rig.Write("g5", 5);
  CHECK(rig.Look() == "g5@5");
  const absl::Time since = rig.clock.Now();
  rig.Write("g5", 6);
  CHECK(rig.Look(absl::Seconds(1)) == "g5@6");
  CHECK(rig.view.Get("images")->since == since);
  rig.Write("g1", 7);
  CHECK(rig.Look() == "g1@7");
  CHECK(rig.view.Get("images")->since == rig.clock.Now());
  CHECK(rig.view.Sequence("images") == 7);
  CHECK(!rig.view.Get("captions").has_value());
}

TEST_CASE("what is behind is asked for when it has stood unchanged") {
  Rig rig;
  rig.Write("g5", 5);
  rig.Look();
  // Another generation of the same number is of another history, too.
  const int sequence = GENERATE(1, 4, 5);
  rig.Write("g4", sequence);
  CHECK(rig.Look() == "g5@5");
  CHECK(rig.Look(kRestoredAfter - absl::Nanoseconds(1)) == "g5@5");
  SECTION("it did") {
    CHECK(rig.Look(absl::Nanoseconds(1)) == absl::StrCat("g4@", sequence));
    rig.Write("g6", sequence + 1);
    CHECK(rig.Look() == absl::StrCat("g6@", sequence + 1));
  }
  SECTION("it changed, and stands from then on") {
    rig.Write("g3", sequence);
    CHECK(rig.Look(absl::Nanoseconds(1)) == "g5@5");
    CHECK(rig.Look(kRestoredAfter - absl::Nanoseconds(1)) == "g5@5");
    CHECK(rig.Look(absl::Nanoseconds(1)) == absl::StrCat("g3@", sequence));
  }
  SECTION("what was there before came back for a moment") {
    rig.Write("g5", 5);
    CHECK(rig.Look() == "g5@5");
    rig.Write("g4", sequence);
    CHECK(rig.Look(absl::Nanoseconds(1)) == "g5@5");
    CHECK(rig.Look(kRestoredAfter - absl::Nanoseconds(1)) == "g5@5");
    CHECK(rig.Look(absl::Nanoseconds(1)) == absl::StrCat("g4@", sequence));
  }
  SECTION("nothing could be read for a moment") {
    rig.Write("{");
    CHECK(rig.Look().empty());
    CHECK(rig.view.Sequence("images") == -1);
    rig.Write("g4", sequence);
    CHECK(rig.Look(absl::Nanoseconds(1)) == "g5@5");
  }
  SECTION("something newer came in between") {
    rig.Write("g6", 6);
    CHECK(rig.Look() == "g6@6");
  }
}

TEST_CASE("a rollback is one until it is taken") {
  Rig rig;
  rig.Write("g2", 2);
  rig.Look();
  CHECK(!rig.view.IsRolledBack("images"));
  rig.Write("g1", 3, /*rollback=*/true);
  rig.Look();
  CHECK(rig.view.IsRolledBack("images"));
  CHECK(rig.view.Take("images")->current.generation() == "g1");
  CHECK(!rig.view.IsRolledBack("images"));
  rig.Look();
  CHECK(!rig.view.IsRolledBack("images"));
  rig.Write("g0", 4, /*rollback=*/true);
  rig.Look();
  CHECK(rig.view.IsRolledBack("images"));
  CHECK(!rig.view.IsRolledBack("captions"));
}

TEST_CASE("what is held has its place in the history that CURRENT tells, or none") {
  bundle::v1::CurrentGeneration current;
  current.set_generation("g4");
  current.set_sequence(7);
  auto* previous = current.add_previous();
  previous->set_generation("g2");
  previous->set_sequence(5);
  CHECK(SequenceIn(current, "g4", 1) == 7);
  CHECK(SequenceIn(current, "g2", 9) == 5);
  CHECK(SequenceIn(current, "forgotten", 3) == 3);
  CHECK(SequenceIn(current, "parent", 0) == 0);
  CHECK(SequenceIn(current, "other", 7) == 0);
  CHECK(SequenceIn(current, "other", 8) == 0);
}

}  // namespace
}  // namespace sightline
