// Of many wrong pairs those that a network itself takes for right: hard negatives as "UNITER" (Chen
// et al., 2020) fine-tunes with.
//
// Includes torch: only .cc files of common/training and its tests include this.
#ifndef SIGHTLINE_COMMON_TRAINING_HARDEST_CANDIDATES_H_
#define SIGHTLINE_COMMON_TRAINING_HARDEST_CANDIDATES_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "common/base/call_context.h"
#include "common/training/learnt_pairs.h"
#include "common/training/pair_sampler.h"

namespace sightline {

// Of problems of `drawn_each` pairs, which are of numbers of the corpus, those of `kept_each`: the
// right one, and of the others those that the network scores highest in evaluation mode, highest
// first, and a pair that was drawn twice once, if there are enough.  1 < kept_each <= drawn_each.
// Errors as ScoreCaptioned.  REQUIRES: a network that scores pairs.
absl::StatusOr<DrawnProblems> HardestOf(const DrawnProblems& drawn, int64_t drawn_each,
                                        int64_t kept_each, const LearntPairs& pairs,
                                        const CallContext& call);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_TRAINING_HARDEST_CANDIDATES_H_
