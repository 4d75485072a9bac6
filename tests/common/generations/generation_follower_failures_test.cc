// What the follower does about what requests could not read.
#include <cerrno>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/base/error_details.h"
#include "common/base/files.h"
#include "common/base/random_access_file.h"
#include "common/generations/generation_source.h"
#include "tests/common/generations/follower_rig.h"
#include "tests/support/captured_log.h"
#include "tests/support/catch.h"
#include "tests/support/failing_reads.h"

namespace sightline {
namespace {

TEST_CASE("a generation whose files cannot be read any more is loaded anew, and comes back") {
  Rig rig;
  rig.MakeAndPublish("g1");
  rig.Pass();
  REQUIRE(rig.served == std::vector<bool>{true});
  const std::string space = rig.Get("g1")->manifest->embedding().space();
  rig.host.load["g1"] = kUnreadable;
  rig.Fail("g1", kUnreadable);
  // At once, and the refusal says which file it is.
  const absl::Status refused = rig.table->Find("images", "g1", space).status();
  CHECK(HasReason(refused, reasons::kGenerationNotHeld));
  CHECK(std::string(refused.message()).find("/store/file") != std::string::npos);
  CHECK(rig.State("g1") == reasons::kReadFailed.name);

  rig.Pass();
  CHECK(rig.served == std::vector<bool>{true, false});
  CHECK(rig.host.loaded.size() == 1);
  rig.Pass(absl::Seconds(1));
  CHECK(rig.host.loaded.size() == 2);
  CHECK(rig.State("g1") == reasons::kReadFailed.name);
  rig.Pass(absl::Milliseconds(999));
  CHECK(rig.host.loaded.size() == 2);
  rig.host.load.clear();
  rig.Pass(absl::Seconds(2));
  CHECK(rig.Ready("g1"));
  CHECK(rig.served == std::vector<bool>{true, false, true});
  CHECK(ListFilesBelow(rig.state.path())->empty());  // nothing is held against it
  // It was found good once; what is read of it is compared each time.
  CHECK(rig.host.distrusted.empty());
  CHECK(rig.host.verified.size() == 1);
}

TEST_CASE("damage that a request has proven is remembered, and the ancestor is served") {
  Rig rig;
  rig.MakeAndPublish("g1");
  rig.MakeAndPublish("g2");
  rig.Pass();
  REQUIRE(rig.Ready("g2"));
  rig.Fail("g2", kDamaged);
  rig.Pass();
  CHECK(rig.host.distrusted == std::vector<std::string>{"g2"});
  CHECK(rig.State("g2") == reasons::kChecksumMismatch.name);
  CHECK(rig.Ready("g1"));
  rig.Restart();
  rig.Pass(absl::Hours(1));
  CHECK(rig.State("g2") == reasons::kChecksumMismatch.name);
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

TEST_CASE("what could not be read is read before it is served again, and nothing else of it") {
  Rig rig;
  rig.MakeAndPublish("g1");
  rig.Pass();
  rig.clock.Advance(absl::Minutes(1));
  const std::string file = rig.host.Files(*rig.Get("g1")->manifest).front();
  {
    const FailingReads failing({file, EIO});
    char byte = 0;
    rig.Fail("g1", (*RandomAccessFile::Open(file))->Read(7, 1, &byte));
    rig.Pass();
    CHECK(rig.State("g1") == reasons::kReadFailed.name);
    CHECK(failing.reads() == 2);
    CHECK(rig.host.loaded == std::vector<std::string>{"g1"});
  }
  rig.Pass(absl::Seconds(1));
  CHECK(rig.Ready("g1"));
  CHECK(rig.host.loaded == std::vector<std::string>{"g1", "g1"});
  CHECK(rig.host.verified == std::vector<std::string>{"g1"});
}

TEST_CASE(
    "what has served for long is tried again at once, what fails again more and more slowly") {
  Rig rig;
  rig.MakeAndPublish("g1");
  rig.Pass();
  rig.clock.Advance(absl::Minutes(1));
  rig.Fail("g1", kUnreadable);
  rig.Pass();
  CHECK(rig.Ready("g1"));
  for (const absl::Duration wait : {absl::Seconds(1), absl::Seconds(2), absl::Seconds(4)}) {
    rig.Fail("g1", kUnreadable);
    rig.Pass();
    rig.Pass(wait - absl::Milliseconds(1));
    CHECK(!rig.Ready("g1"));
    rig.Pass(absl::Milliseconds(1));
    CHECK(rig.Ready("g1"));
  }
  CHECK(rig.metrics.Render().find("result=\"READ_FAILED\"} 4") != std::string::npos);
}

TEST_CASE("a file that was put in the place of one that failed is judged by itself") {
  Rig rig;
  rig.MakeAndPublish("g1");
  rig.Pass();
  rig.clock.Advance(absl::Minutes(1));
  const std::string file = rig.host.Files(*rig.Get("g1")->manifest).front();
  REQUIRE(WriteFileAtomically(file, *ReadFile(file)).ok());
  rig.Fail("g1", GENERATE(kUnreadable, kDamaged));
  rig.Pass();
  CHECK(rig.Ready("g1"));
  CHECK(rig.host.verified == std::vector<std::string>{"g1", "g1"});
}

TEST_CASE("what fails while other failures are taken out is taken out at the next look") {
  Rig rig;
  rig.MakeAndPublish("g1");
  rig.Pass();
  rig.MakeAndPublish("g2");
  rig.Pass();
  rig.host.during_distrust = [&] {
    rig.host.during_distrust = nullptr;
    rig.Fail("g2", kDamaged);
  };
  rig.Fail("g1", kDamaged);
  rig.Pass();
  CHECK(rig.State("g2") == reasons::kChecksumMismatch.name);
  CHECK(rig.host.loaded == std::vector<std::string>{"g1", "g2"});
  rig.Pass();
  CHECK(rig.host.distrusted == std::vector<std::string>{"g1", "g2"});
  CHECK(rig.host.loaded == std::vector<std::string>{"g1", "g2"});
}

// Loads of `generation` come to their end after `looks` of the watch, unless they are put off.
void TakeLong(Rig* rig, const std::string& generation, int looks,
              std::function<void()> at_first = nullptr) {
  rig->host.during_load = [=, asked = false](const CallContext& call) mutable {
    if (rig->host.loaded.back() != generation) return;
    if (!asked && at_first != nullptr) at_first();
    asked = true;
    rig->host.load.erase(generation);
    for (int i = 0; i < looks && !call.cancelled(); ++i) rig->LetWatchLook();
    if (call.cancelled()) rig->host.load[generation] = absl::CancelledError("put off");
  };
}

TEST_CASE("what a request could not read waits for no other index's load") {
  Rig rig;
  rig.indexes = {"captions", "images"};
  rig.Restart();
  rig.MakeAndPublishCaptions("c1");
  rig.MakeAndPublish("g1");
  rig.Pass();
  rig.clock.Advance(absl::Minutes(1));
  rig.MakeAndPublish("g2");
  TakeLong(&rig, "g2", 3, [&] { rig.Fail("c1", kUnreadable, "captions"); });
  rig.Pass();
  CHECK(rig.State("c1", "captions") == "READY");
  CHECK(rig.Ready("g2"));
  CHECK(rig.host.loaded == std::vector<std::string>{"c1", "g1", "g2", "c1", "g2"});
  CHECK(rig.served == std::vector<bool>{true});  // g1 was there all the time
}

// Can bring anew whatever is damaged.
struct MendingSource : GenerationSource {
  bool DiscardDamaged(const Manifest&, const std::vector<std::string>&,
                      const CallContext&) override {
    during_discard();
    return true;
  }
  std::function<void()> during_discard;
};

TEST_CASE("what a try has mended that was put off is not told of the next one's trouble") {
  Rig rig;
  const auto source = std::make_shared<MendingSource>();
  rig.source = source;
  rig.indexes = {"captions", "images"};
  rig.Restart();
  rig.MakeAndPublishCaptions("c1");
  rig.MakeAndPublish("g1");
  rig.Pass();
  rig.clock.Advance(absl::Minutes(1));
  rig.MakeAndPublish("g2");
  rig.host.load["g2"] = kDamaged;
  source->during_discard = [&] {
    rig.host.load["g2"] = absl::UnavailableError("the disk is away");
    rig.Fail("c1", kUnreadable, "captions");
    rig.LetWatchLook();
  };
  CapturedLog log;
  rig.Pass();
  REQUIRE(rig.host.loaded == std::vector<std::string>{"c1", "g1", "g2", "c1", "g2"});
  CHECK(rig.State("g2") == "UNAVAILABLE");
  const std::vector<std::string> told = log.Take("the disk is away");
  REQUIRE(told.size() == 1);
  CHECK_THAT(told[0], Catch::Contains("ERROR") && Catch::Contains("generation refused"));
}

TEST_CASE("the only one that is served comes back before its successor is loaded") {
  Rig rig;
  rig.MakeAndPublish("g1");
  rig.Pass();
  rig.clock.Advance(absl::Minutes(1));
  rig.MakeAndPublish("g2");
  std::vector<bool> told;
  TakeLong(&rig, "g2", 3, [&] {
    rig.Fail("g1", kUnreadable);
    rig.LetWatchLook();
    told = rig.served;
  });
  rig.Pass();
  CHECK(told == std::vector<bool>{true, false});
  CHECK(rig.served == std::vector<bool>{true, false, true});
  CHECK(rig.Ready("g1"));
  CHECK(rig.Ready("g2"));
  CHECK(rig.host.loaded == std::vector<std::string>{"g1", "g2", "g1", "g2"});
}

TEST_CASE("what was let go to make room does not come back when the load is put off") {
  Rig rig(/*memory_limit=*/299);
  rig.indexes = {"captions", "images"};
  rig.Restart();
  rig.MakeAndPublishCaptions("c1");
  rig.MakeAndPublish("g1");
  rig.Pass();
  rig.clock.Advance(absl::Minutes(1));
  rig.MakeAndPublish("g2");
  rig.follower->NoteUses("router", {{"images", "g1", true}});
  TakeLong(&rig, "g2", 3, [&] { rig.Fail("c1", kUnreadable, "captions"); });
  rig.Pass();
  CHECK(rig.Ready("g2"));
  CHECK(rig.host.loaded == std::vector<std::string>{"c1", "g1", "g2", "c1", "g2"});
}

TEST_CASE("an index that never came up is tried again while another one is loaded") {
  Rig rig;
  rig.indexes = {"captions", "images"};
  rig.Restart();
  rig.MakeAndPublishCaptions("c1");
  rig.MakeAndPublish("g1");
  rig.host.load["c1"] = absl::UnavailableError("the disk is away");
  TakeLong(&rig, "g1", 3, [&] { rig.host.load.erase("c1"); });
  rig.Pass();
  CHECK(rig.State("c1", "captions") == "READY");
  CHECK(rig.host.loaded == std::vector<std::string>{"c1", "g1", "c1", "g1"});
  CHECK(rig.served == std::vector<bool>{true});  // once all were looked at
}

TEST_CASE("a load comes to its end however long something else cannot be read") {
  Rig rig;
  rig.indexes = {"captions", "images"};
  rig.Restart();
  rig.MakeAndPublishCaptions("c1");
  rig.MakeAndPublish("g1");
  rig.Pass();
  rig.MakeAndPublish("g2");
  rig.host.load["c1"] = kUnreadable;
  constexpr int kSeconds = 100;
  TakeLong(&rig, "g2", kSeconds, [&] { rig.Fail("c1", kUnreadable, "captions"); });
  const absl::Time begin = rig.clock.Now();
  rig.Pass();
  CHECK(rig.Ready("g2"));
  CHECK(rig.State("c1", "captions") == reasons::kReadFailed.name);
  CHECK(rig.clock.Now() - begin < absl::Seconds(4 * kSeconds));
}

}  // namespace
}  // namespace sightline
