#include "common/scenes/scene_view.h"

#include <algorithm>

#include "absl/status/status.h"
#include "common/scenes/compose.h"
#include "tests/common/scenes/some_rasters.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

Composition Pair() {
  Composition pair;
  pair.drawings = {{0, 1, 33, 20, 30}, {2, 5, 20, 150, 160}};
  return pair;
}

bool operator==(const PixelBox& a, const PixelBox& b) {
  return a.x == b.x && a.y == b.y && a.width == b.width && a.height == b.height;
}

TEST_CASE("a view has the picture and boxes near each of its copies") {
  Random random(1);
  const DrawingSet drawings = SomeDrawings();
  const auto view = ViewScene(Pair(), drawings, &random);
  REQUIRE(view.ok());
  REQUIRE(view->canvas.rgb == Compose(Pair(), drawings)->rgb);
  REQUIRE(view->proposals.size() == kProposals);
  int false_ones = 0;
  for (const Proposal& proposal : view->proposals) {
    if (proposal.copy < 0) {
      ++false_ones;
      continue;
    }
    const PixelBox copy = *BoxOf(Pair().drawings[proposal.copy], drawings);
    REQUIRE(OverlapPermille(proposal.box, copy) > 500);
  }
  REQUIRE(false_ones == kFalseProposals);
}

TEST_CASE("equal numbers give equal boxes, others others") {
  const DrawingSet drawings = SomeDrawings();
  const auto boxes = [&](uint64_t seed) {
    Random random(seed);
    return ViewScene(Pair(), drawings, &random)->proposals;
  };
  const auto same = [](const std::vector<Proposal>& a, const std::vector<Proposal>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](const Proposal& x, const Proposal& y) { return x.box == y.box; });
  };
  REQUIRE(same(boxes(1), boxes(1)));
  REQUIRE_FALSE(same(boxes(1), boxes(2)));
}

TEST_CASE("a scene that shows nothing is refused") {
  Random random(1);
  REQUIRE(absl::IsInvalidArgument(ViewScene({}, SomeDrawings(), &random).status()));
}

}  // namespace
}  // namespace sightline
