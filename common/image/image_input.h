// What an image is to a model: pixels to be looked at, or regions that a detector has
// found already.
#ifndef SIGHTLINE_COMMON_IMAGE_IMAGE_INPUT_H_
#define SIGHTLINE_COMMON_IMAGE_IMAGE_INPUT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/base/call_context.h"

namespace sightline {

// A decoded picture: 8-bit RGB, row-major, no padding; transparency is composed on
// white.
struct Pixels {
  int width = 0;
  int height = 0;
  std::vector<uint8_t> rgb;  // width * height * 3
};

// Feature vectors of the parts of one image; grid cells count as regions.
struct RegionSet {
  int64_t count = 0;
  int feature_size = 0;
  std::vector<float> features;  // count x feature_size
  // count x 4: x1/W, y1/H, x2/W, y2/H, each in [0, 1].  Empty when the features carry
  // their boxes already.
  std::vector<float> boxes;
  // count x 2: w/W, h/H, where the detector stored them: rounded on their own, they are not
  // quite what the corners say.  Empty: x2 - x1 and y2 - y1.
  std::vector<float> box_sizes;
  // How sure the detector was of each region, 0 to 1.  Empty when that is not known.
  std::vector<float> confidences;
};

// One image as a model receives it.  Either `pixels` or `regions` is filled.
struct ImageInput {
  Pixels pixels;
  RegionSet regions;
  std::vector<std::string> ocr_tokens;  // in reading order
  std::vector<std::string> tags;        // object class names

  bool has_regions() const { return regions.count > 0; }
};

// Regions, and how likely what found them thinks each of its classes.
struct LabelledRegions {
  RegionSet regions;
  std::vector<float> soft_labels;  // count x classes, as CheckSoftLabels wants them; may be empty
};

// Turns pixels into regions.  Thread-safe.
class RegionExtractor {
 public:
  virtual ~RegionExtractor() = default;

  // One RegionSet per image, in order; each depends on its own image only.
  // InvalidArgument for an image without pixels.
  virtual absl::StatusOr<std::vector<RegionSet>> Extract(absl::Span<const Pixels> images,
                                                         const CallContext& call) const = 0;

  // The same with soft labels, of as many classes for each image, or none for any.  What serves has
  // no use for them.
  virtual absl::StatusOr<std::vector<LabelledRegions>> ExtractLabelled(
      absl::Span<const Pixels> images, const CallContext& call) const {
    absl::StatusOr<std::vector<RegionSet>> sets = Extract(images, call);
    if (!sets.ok()) return sets.status();
    std::vector<LabelledRegions> labelled(sets->size());
    for (size_t i = 0; i < labelled.size(); ++i) labelled[i].regions = std::move((*sets)[i]);
    return labelled;
  }

  // The picture as small as Extract may get it with the same result: what a queue of
  // pictures should hold.  Idempotent.
  virtual Pixels Reduce(Pixels image) const { return image; }

  // Reduce as a number, for a process that has no model: ReducePicture(image, side) of
  // decode.h changes nothing that Extract gives.  0: there is no such side.
  virtual int64_t reduced_side() const { return 0; }
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_IMAGE_IMAGE_INPUT_H_
