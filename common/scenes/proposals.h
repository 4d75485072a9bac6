// Where a detector would look on a scene: boxes near the copies, and some that lie beside them.
// The feature extractor computes a region of each.
#ifndef SIGHTLINE_COMMON_SCENES_PROPOSALS_H_
#define SIGHTLINE_COMMON_SCENES_PROPOSALS_H_

#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "common/scenes/composition.h"

namespace sightline {

inline constexpr int kProposals = 12;
inline constexpr int kFalseProposals = 3;

struct Proposal {
  PixelBox box;
  int copy = -1;  // place of the copy that it is meant for; -1: a false one
};

// A number from 0 and below `bound`, which is at least 1.
using DrawBelow = absl::FunctionRef<uint64_t(uint64_t bound)>;

// The intersection over the union of two boxes, in thousandths, rounded down.
int OverlapPermille(const PixelBox& a, const PixelBox& b);

// kProposals boxes on the canvas, of which kFalseProposals are false, in an order that says
// nothing.  Of up to nine copies each has a box, and the first of them in a drawn order have
// another; of more copies nine drawn ones have one.  A copy's box has each of its four sides
// moved by up to an eighth of the box's length, at least a pixel.  A false box overlaps no copy by
// more than 300 thousandths, or is the one of 64 drawn ones that overlaps them least.  The same
// copies and numbers give the same boxes.  REQUIRES: at least one copy, each on the canvas with
// a pixel at least.
std::vector<Proposal> Propose(absl::Span<const PixelBox> copies, DrawBelow draw);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_SCENES_PROPOSALS_H_
