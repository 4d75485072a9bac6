// What the regions of an image must be, whoever gives them: a file, a request, an extractor.
#ifndef SIGHTLINE_COMMON_IMAGE_REGION_SET_H_
#define SIGHTLINE_COMMON_IMAGE_REGION_SET_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "common/base/limits.h"
#include "common/image/image_input.h"

namespace sightline {

inline constexpr int kMaxRegionFeatureSize = 1 << 16;

// Classes that soft labels are of, several times those of the detectors that are in use.
inline constexpr int kMaxRegionClasses = 4096;

// Of the regions that a model reads of one image, as floats.
inline constexpr int64_t kMostModelRegionBytes =
    int64_t{limits::kMaxModelRegions} * limits::kMaxRegionFeatureSize * int64_t{sizeof(float)};

// For before anything is read: InvalidArgument unless there is a region and `count` x
// `feature_size` floats have at most `max_bytes`.
absl::Status CheckRegionSizes(int64_t count, int64_t feature_size, int64_t max_bytes);

// The numbers of RegionSet's fields, as many as there are.  InvalidArgument: one that is not
// finite or outside [0, 1], for which boxes in pixels are blamed where they look it (they are
// never guessed at); a box that ends before it begins; a size that is not its box's.  A
// hundredth is let pass: half precision has 1.0005 for a box at the edge.  `box_sizes` are of
// `boxes`, two numbers for each four.
absl::Status CheckBoxes(absl::Span<const float> boxes);
absl::Status CheckBoxSizes(absl::Span<const float> boxes, absl::Span<const float> box_sizes);
absl::Status CheckConfidences(absl::Span<const float> confidences);

// Of each region a probability for each of `classes`, at least one: InvalidArgument for numbers
// that are no rows of so many, a probability outside [0, 1] or a row that does not add up to 1, by
// more than a hundredth.
absl::Status CheckSoftLabels(absl::Span<const float> labels, int64_t classes);

// InvalidArgument: sizes that contradict each other, a feature that is not finite, or what
// those above refuse.
absl::Status CheckRegionSet(const RegionSet& regions);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_IMAGE_REGION_SET_H_
