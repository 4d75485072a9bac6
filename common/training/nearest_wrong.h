// The wrong pictures and captions that a bi-encoder itself finds: the negatives that are hardest,
// as "Approximate Nearest Neighbor Negative Contrastive Learning" (ANCE, Xiong et al., 2020) takes
// them.
//
// No torch in here.
#ifndef SIGHTLINE_COMMON_TRAINING_NEAREST_WRONG_H_
#define SIGHTLINE_COMMON_TRAINING_NEAREST_WRONG_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace sightline {

// Of each caption the pictures and of each picture the captions that are wrong for it and most
// alike, most alike first; at most `kept` each.
struct NearestWrong {
  int64_t kept = 0;
  std::vector<int64_t> pictures;  // captions x kept; -1 where there are no more
  std::vector<int64_t> captions;  // pictures x kept

  absl::Span<const int64_t> PicturesOf(int64_t caption) const { return Of(pictures, caption); }
  absl::Span<const int64_t> CaptionsOf(int64_t picture) const { return Of(captions, picture); }

 private:
  absl::Span<const int64_t> Of(const std::vector<int64_t>& all, int64_t item) const {
    const auto begin = all.begin() + item * kept, end = begin + kept;
    return absl::MakeConstSpan(all).subspan(item * kept,
                                            std::find(begin, end, int64_t{-1}) - begin);
  }
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_TRAINING_NEAREST_WRONG_H_
