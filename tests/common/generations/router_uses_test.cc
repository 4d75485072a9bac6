#include "common/generations/router_uses.h"

#include <string>

#include "tests/support/catch.h"

namespace sightline {
namespace {

const absl::Time kNow = absl::FromUnixSeconds(1000);

TEST_CASE("a generation is in use as long as any router that is there names it") {
  RouterUses uses(absl::Seconds(10));
  CHECK(!uses.InUse("images", "g1", kNow));
  uses.Note("a", {{"images", "g1", false}}, kNow);
  uses.Note("b", {{"images", "g2", false}}, kNow);
  CHECK(uses.InUse("images", "g1", kNow));
  CHECK(uses.InUse("images", "g2", kNow));
  CHECK(!uses.InUse("captions", "g1", kNow));
  uses.Note("a", {{"images", "g2", false}}, kNow);
  CHECK(!uses.InUse("images", "g1", kNow));
  CHECK(uses.InUse("images", "g2", kNow + absl::Seconds(9)));
  CHECK(!uses.InUse("images", "g2", kNow + absl::Seconds(10)));
}

TEST_CASE("it may be released when every router that uses it can do without") {
  RouterUses uses(absl::Seconds(10));
  CHECK(!uses.MayRelease("images", "g1", kNow));  // nobody has said so
  uses.Note("a", {{"images", "g1", true}}, kNow);
  CHECK(uses.MayRelease("images", "g1", kNow));
  uses.Note("b", {{"images", "g1", false}}, kNow);
  CHECK(!uses.MayRelease("images", "g1", kNow));
  uses.Note("b", {}, kNow);
  CHECK(uses.MayRelease("images", "g1", kNow));
}

TEST_CASE("names that a stranger makes up fill no memory and drive no router out") {
  RouterUses uses(absl::Seconds(10));
  uses.Note("mine", {{"images", "g1", false}}, kNow);
  for (int i = 0; i < 5000; ++i) {
    uses.Note("stranger " + std::to_string(i), {{"images", "g9", false}}, kNow);
  }
  uses.Note("mine", {{"images", "g2", false}}, kNow);
  CHECK(uses.InUse("images", "g2", kNow));
  // Somebody whom nobody could note may use anything.
  CHECK(uses.InUse("images", "g1", kNow));
  CHECK(!uses.MayRelease("images", "g1", kNow));
  // They are forgotten like any router that has gone.
  uses.Note("late", {{"images", "g3", false}}, kNow + absl::Seconds(10));
  CHECK(uses.InUse("images", "g3", kNow + absl::Seconds(10)));
  CHECK(!uses.InUse("images", "g1", kNow + absl::Seconds(10)));
}

}  // namespace
}  // namespace sightline
