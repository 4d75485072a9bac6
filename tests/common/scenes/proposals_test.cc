#include "common/scenes/proposals.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <vector>

#include "tests/support/catch.h"

namespace sightline {
namespace {

// Numerical Recipes' generator.
class Draws {
 public:
  explicit Draws(uint32_t seed) : state_(seed) {}
  uint64_t operator()(uint64_t bound) {
    REQUIRE(bound > 0);
    state_ = state_ * 1664525 + 1013904223;
    return (uint64_t{state_} * bound) >> 32;
  }

 private:
  uint32_t state_;
};

std::vector<Proposal> ProposalsOf(const std::vector<PixelBox>& copies, uint32_t seed) {
  Draws draws(seed);
  return Propose(copies, [&](uint64_t bound) { return draws(bound); });
}

std::vector<PixelBox> Copies(int count) {
  std::vector<PixelBox> copies;
  for (int i = 0; i < count; ++i) copies.push_back({8 + 52 * (i % 4), 4 + 54 * (i / 4), 40, 24});
  return copies;
}

bool OnCanvas(const PixelBox& box) {
  return box.x >= 0 && box.y >= 0 && box.width > 0 && box.height > 0 &&
         box.x + box.width <= kCanvasSide && box.y + box.height <= kCanvasSide;
}

TEST_CASE("overlap is the intersection over the union") {
  const PixelBox box = {10, 10, 20, 10};
  REQUIRE(OverlapPermille(box, box) == 1000);
  REQUIRE(OverlapPermille(box, {20, 10, 20, 10}) == 333);
  REQUIRE(OverlapPermille(box, {15, 12, 5, 5}) == 125);
  REQUIRE(OverlapPermille(box, {30, 10, 20, 10}) == 0);
  REQUIRE(OverlapPermille(box, {10, 20, 20, 10}) == 0);
}

TEST_CASE("twelve boxes, three of them false, each copy with one or nine drawn ones") {
  for (int count = 1; count <= 16; ++count) {
    for (uint32_t seed = 0; seed < 50; ++seed) {
      CAPTURE(count, seed);
      const std::vector<PixelBox> copies = Copies(count);
      const std::vector<Proposal> proposals = ProposalsOf(copies, seed);
      REQUIRE(proposals.size() == kProposals);
      std::map<int, int> boxes;
      for (const Proposal& proposal : proposals) {
        REQUIRE(OnCanvas(proposal.box));
        REQUIRE(proposal.copy >= -1);
        REQUIRE(proposal.copy < count);
        ++boxes[proposal.copy];
      }
      REQUIRE(boxes[-1] == kFalseProposals);
      REQUIRE(boxes.size() == size_t(std::min(count, 9)) + 1);
      for (const auto& [copy, number] : boxes) {
        if (copy < 0) continue;
        REQUIRE(number >= 9 / count);
        REQUIRE(number <= (9 + count - 1) / count);
      }
    }
  }
}

TEST_CASE("a copy's box is near the copy, and seldom the same") {
  const std::vector<PixelBox> copies = Copies(4);
  int same = 0, all = 0;
  for (uint32_t seed = 0; seed < 100; ++seed) {
    for (const Proposal& proposal : ProposalsOf(copies, seed)) {
      if (proposal.copy < 0) continue;
      const PixelBox& copy = copies[proposal.copy];
      const PixelBox& box = proposal.box;
      REQUIRE(std::abs(box.x - copy.x) <= 5);
      REQUIRE(std::abs(box.x + box.width - copy.x - copy.width) <= 5);
      REQUIRE(std::abs(box.y - copy.y) <= 3);
      REQUIRE(std::abs(box.y + box.height - copy.y - copy.height) <= 3);
      REQUIRE(OverlapPermille(box, copy) > 500);
      same += OverlapPermille(box, copy) == 1000;
      ++all;
    }
  }
  REQUIRE(same * 20 < all);
}

TEST_CASE("a false box is beside the copies; in a full picture, as far as one can be had") {
  for (const int count : {1, 4, 9, 16}) {
    const std::vector<PixelBox> copies = Copies(count);
    for (uint32_t seed = 0; seed < 100; ++seed) {
      for (const Proposal& proposal : ProposalsOf(copies, seed)) {
        if (proposal.copy >= 0) continue;
        for (const PixelBox& copy : copies) REQUIRE(OverlapPermille(proposal.box, copy) <= 300);
      }
    }
  }
  const std::vector<PixelBox> whole = {{0, 0, kCanvasSide, kCanvasSide}};
  REQUIRE(ProposalsOf(whole, 1).size() == kProposals);
}

TEST_CASE("a box of one pixel at the canvas' corner remains on it") {
  for (const PixelBox& corner : {PixelBox{0, 0, 1, 1}, PixelBox{223, 223, 1, 1}}) {
    for (uint32_t seed = 0; seed < 100; ++seed) {
      for (const Proposal& proposal : ProposalsOf({corner}, seed)) {
        REQUIRE(OnCanvas(proposal.box));
      }
    }
  }
}

TEST_CASE("the same numbers give the same boxes, others give others, and order says nothing") {
  const auto flat = [](const std::vector<Proposal>& proposals) {
    std::vector<std::array<int, 5>> all;
    for (const Proposal& p : proposals) {
      all.push_back({p.copy, p.box.x, p.box.y, p.box.width, p.box.height});
    }
    return all;
  };
  REQUIRE(flat(ProposalsOf(Copies(4), 7)) == flat(ProposalsOf(Copies(4), 7)));
  REQUIRE(flat(ProposalsOf(Copies(4), 7)) != flat(ProposalsOf(Copies(4), 8)));
  std::array<int, kProposals> false_at = {};
  for (uint32_t seed = 0; seed < 600; ++seed) {
    const std::vector<Proposal> proposals = ProposalsOf(Copies(4), seed);
    for (int i = 0; i < kProposals; ++i) false_at[i] += proposals[i].copy < 0;
  }
  // 150 are expected at each place, with a standard deviation of 10.6.
  for (const int count : false_at) {
    REQUIRE(count > 90);
    REQUIRE(count < 210);
  }
}

}  // namespace
}  // namespace sightline
