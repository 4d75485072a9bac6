#include "common/training/hardest_candidates.h"

#include <ATen/ATen.h>

#include <limits>
#include <set>
#include <vector>

#include "common/base/status_macros.h"
#include "common/training/corpus_outputs.h"

namespace sightline {

namespace {

// Behind all others where a problem's pair was drawn before: it counts once.  P x C.
void PutTwinsLast(const std::vector<CaptionedPicture>& pairs, at::Tensor* scores) {
  const int64_t each = scores->size(1);
  std::set<CaptionedPicture> seen;
  for (int64_t i = 0; i < scores->numel(); ++i) {
    if (i % each == 0) seen.clear();
    if (seen.insert(pairs[i]).second) continue;
    (*scores)[i / each][i % each] = -std::numeric_limits<float>::infinity();
  }
}

}  // namespace

absl::StatusOr<DrawnProblems> HardestOf(const DrawnProblems& drawn, int64_t drawn_each,
                                        int64_t kept_each, const LearntPairs& pairs,
                                        const CallContext& call) {
  const std::vector<CaptionedPicture> all = drawn.Captioned();
  ASSIGN_OR_RETURN(const at::Tensor scored, ScoreCaptioned(pairs, all, call));
  at::Tensor scores = scored.to(at::kCPU).view({-1, drawn_each});
  PutTwinsLast(all, &scores);
  // Without the right one, which is the first of each.
  const at::Tensor wrong = scores.narrow(1, 1, drawn_each - 1);
  const at::Tensor hardest = std::get<1>(wrong.topk(kept_each - 1, 1)).contiguous();
  const int64_t* next = hardest.data_ptr<int64_t>();
  std::vector<CaptionedPicture> kept;
  for (size_t begin = 0; begin < all.size(); begin += drawn_each) {
    kept.push_back(all[begin]);
    for (int64_t i = 1; i < kept_each; ++i) kept.push_back(all[begin + 1 + *next++]);
  }
  return ProblemsOf(kept);
}

}  // namespace sightline
