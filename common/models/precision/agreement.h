// How far scores are from float32's.
#ifndef SIGHTLINE_COMMON_MODELS_PRECISION_AGREEMENT_H_
#define SIGHTLINE_COMMON_MODELS_PRECISION_AGREEMENT_H_

#include <vector>

#include "absl/types/span.h"
#include "sightline/bundle/v1/precision_report.pb.h"

namespace sightline {

// `reference` and `scores` are raw scores, of each text with each of `item_count` items, text after
// text; `relevant[t]` are the items that text t means, none where that is not known.  Equal scores
// rank in the order of the items, as hits do.  Kendall's tau-b (Kendall, "The treatment of ties in
// ranking problems", 1945) leaves ties on either side out; orders that are all ties agree (1) with
// each other, and with no other (0).
bundle::v1::PrecisionAgreement Compare(absl::Span<const float> reference,
                                       absl::Span<const float> scores, int item_count,
                                       const std::vector<std::vector<int>>& relevant);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_MODELS_PRECISION_AGREEMENT_H_
