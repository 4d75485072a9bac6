// Pictures on their way into a network: checked, scaled, and one a pass.
//
// Includes torch: only .cc files of common/models and services/trainer include this.
#ifndef SIGHTLINE_COMMON_MODELS_NETWORK_PICTURES_H_
#define SIGHTLINE_COMMON_MODELS_NETWORK_PICTURES_H_

#include <ATen/core/Tensor.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/base/call_context.h"
#include "common/base/compute_pool.h"
#include "common/image/image_input.h"
#include "common/models/network/tensor_gate.h"
#include "sightline/bundle/v1/model_bundle.pb.h"

namespace sightline {

// InvalidArgument unless width and height are positive and rgb has three bytes for each
// pixel.
absl::Status CheckPixels(const Pixels& pixels);

// The picture on a white square of `side` pixels, 3 x side x side, 0 to 1: shrunk by a
// whole factor first (which bounds memory and time for giants), then resized bicubically
// with antialiasing, centred.  `pixels` must be well formed, see CheckPixels.  Resized on the
// gate's device, where the result lies.
at::Tensor SquarePicture(const Pixels& pixels, int64_t side, const TensorGate& gate = {});

// The picture as `spec`, checked before, says, 3 x image_size x image_size: shrunk as by
// ReduceForScaling, resized as PIL does it (across, then down, with antialiasing, in whole
// numbers of 0 to 255), on a scale of 0 to 1, minus the mean, by the deviation.  Of five
// pictures of noise, resized bicubically and too small to be shrunk, 99.9 % of the numbers are
// PIL 9.4's and the others off by one; shrinking may move a picture by less than a pixel.
//
// CROP is CLIP's: the shorter side becomes image_size, the longer one in proportion, rounded
// down; of what is too long the middle remains.  Of a picture more than three times as long
// as it is wide the ends are cut off before it is resized, so that nobody can make us resize
// a line to a poster.
at::Tensor ScaledPicture(const Pixels& pixels, const bundle::v1::PixelSpec& spec,
                         const TensorGate& gate = {});

// Shrunk by a whole factor until its shorter side is less than four times `side`, as most
// pictures are.  Doing it twice is doing it once.
Pixels ReduceForScaling(Pixels pixels, int64_t side);

// Regions of one picture a pass, so that a region set is bit for bit the same whatever it was
// extracted beside.
class PictureExtractor : public RegionExtractor {
 public:
  // `pool` may be null and must outlive the extractor; `failed`, which may be null too, is set once
  // a device has failed.
  PictureExtractor(ComputePool* pool, std::shared_ptr<std::atomic<bool>> failed)
      : pool_(pool), failed_(std::move(failed)) {}

  absl::StatusOr<std::vector<RegionSet>> Extract(absl::Span<const Pixels> images,
                                                 const CallContext& call) const final;
  absl::StatusOr<std::vector<LabelledRegions>> ExtractLabelled(absl::Span<const Pixels> images,
                                                               const CallContext& call) const final;
  Pixels Reduce(Pixels image) const final;

 private:
  // Of well formed pixels.  `soft_labels` is null where nobody wants them, and stays empty if the
  // extractor knows no classes.  What it throws becomes a status.
  virtual absl::Status ExtractOne(const Pixels& pixels, RegionSet* set,
                                  std::vector<float>* soft_labels) const = 0;
  virtual Pixels Reduced(Pixels image) const = 0;

  // Checks them, then calls `extract` for each by its number, on the pool.
  absl::Status ForEach(absl::Span<const Pixels> images, const CallContext& call,
                       const std::function<absl::Status(size_t image)>& extract) const;

  ComputePool* const pool_;
  const std::shared_ptr<std::atomic<bool>> failed_;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_MODELS_NETWORK_PICTURES_H_
