#include "common/scenes/proposals.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>

namespace sightline {
namespace {

constexpr int kJitterShare = 8;
constexpr int kMostOverlap = 300;  // of a false box with a copy, in thousandths
constexpr int kTries = 64;
constexpr int kLeastSide = 20, kMostSide = 90;  // of a false box

// From -`most` to `most`.
int DrawAround(int most, DrawBelow draw) {
  return static_cast<int>(draw(uint64_t{2} * most + 1)) - most;
}

template <typename T>
void Shuffle(std::vector<T>& values, DrawBelow draw) {
  for (size_t left = values.size(); left > 1; --left) {
    std::swap(values[left - 1], values[draw(left)]);
  }
}

// Both ends of one side moved, on the canvas and at least a pixel apart.
std::pair<int, int> Jittered(int at, int length, DrawBelow draw) {
  const int most = std::max(length / kJitterShare, 1);
  const int begin = std::clamp(at + DrawAround(most, draw), 0, kCanvasSide - 1);
  const int end = std::clamp(at + length + DrawAround(most, draw), begin + 1, kCanvasSide);
  return {begin, end - begin};
}

PixelBox Jittered(const PixelBox& box, DrawBelow draw) {
  const auto [x, width] = Jittered(box.x, box.width, draw);
  const auto [y, height] = Jittered(box.y, box.height, draw);
  return {x, y, width, height};
}

PixelBox DrawBox(DrawBelow draw) {
  PixelBox box;
  box.width = kLeastSide + static_cast<int>(draw(kMostSide - kLeastSide + 1));
  box.height = kLeastSide + static_cast<int>(draw(kMostSide - kLeastSide + 1));
  box.x = static_cast<int>(draw(kCanvasSide - box.width + 1));
  box.y = static_cast<int>(draw(kCanvasSide - box.height + 1));
  return box;
}

PixelBox DrawFalseBox(absl::Span<const PixelBox> copies, DrawBelow draw) {
  PixelBox best;
  int least = 1001;
  for (int i = 0; i < kTries && least > kMostOverlap; ++i) {
    const PixelBox box = DrawBox(draw);
    int most = 0;
    for (const PixelBox& copy : copies) most = std::max(most, OverlapPermille(box, copy));
    if (most < least) {
      best = box;
      least = most;
    }
  }
  return best;
}

}  // namespace

int OverlapPermille(const PixelBox& a, const PixelBox& b) {
  const int width = std::min(a.x + a.width, b.x + b.width) - std::max(a.x, b.x);
  const int height = std::min(a.y + a.height, b.y + b.height) - std::max(a.y, b.y);
  if (width <= 0 || height <= 0) return 0;
  const int64_t both = int64_t{width} * height;
  const int64_t either = int64_t{a.width} * a.height + int64_t{b.width} * b.height - both;
  return static_cast<int>(1000 * both / either);
}

std::vector<Proposal> Propose(absl::Span<const PixelBox> copies, DrawBelow draw) {
  std::vector<int> order(copies.size());
  std::iota(order.begin(), order.end(), 0);
  Shuffle(order, draw);

  std::vector<Proposal> proposals;
  for (size_t i = 0; i < kProposals - kFalseProposals; ++i) {
    const int copy = order[i % order.size()];
    proposals.push_back({Jittered(copies[copy], draw), copy});
  }
  for (int i = 0; i < kFalseProposals; ++i) {
    proposals.push_back({DrawFalseBox(copies, draw), -1});
  }
  Shuffle(proposals, draw);
  return proposals;
}

}  // namespace sightline
