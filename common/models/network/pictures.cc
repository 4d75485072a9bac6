#include "common/models/network/pictures.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/error_details.h"
#include "common/base/status_macros.h"
#include "common/image/decode.h"
#include "common/models/inference.h"

namespace sightline {
namespace {

using bundle::v1::PixelSpec;

// 3 x h x w bytes, without copying: to be read, while `pixels` lives.
at::Tensor BytesOf(const Pixels& pixels) {
  return at::from_blob(const_cast<uint8_t*>(pixels.rgb.data()), {pixels.height, pixels.width, 3},
                       at::kByte)
      .permute({2, 0, 1});
}

// 3 x height x width, 0 to 255.  One channel after another: a picture in floating point is
// four times as large as its bytes.
at::Tensor Resized(const at::Tensor& bytes, int64_t width, int64_t height,
                   PixelSpec::Filter filter) {
  std::vector<at::Tensor> planes;
  for (int64_t channel = 0; channel < 3; ++channel) {
    const at::Tensor plane = bytes[channel].to(at::kFloat).contiguous().unsqueeze(0).unsqueeze(0);
    planes.push_back(
        filter == PixelSpec::BILINEAR
            ? at::_upsample_bilinear2d_aa(plane, {height, width}, /*align_corners=*/false)
            : at::_upsample_bicubic2d_aa(plane, {height, width}, /*align_corners=*/false));
  }
  // Bicubic weights overshoot at edges.
  return at::cat(planes).view({3, height, width}).clamp(0, 255);
}

// The same in whole numbers, as PIL does it: across, then down, rounded after each.
at::Tensor ResizedInWholes(const at::Tensor& bytes, int64_t width, int64_t height,
                           PixelSpec::Filter filter) {
  const at::Tensor across = Resized(bytes, width, bytes.size(1), filter).round();
  return Resized(across, width, height, filter).round();
}

template <typename Numbers>
at::Tensor PerChannel(const Numbers& numbers, const TensorGate& gate) {
  return gate.In(at::tensor(std::vector<float>(numbers.begin(), numbers.end())).view({3, 1, 1}));
}

// The middle of dimension `dim`, at most about three times the other; the same centre.
at::Tensor WithoutFarEnds(const at::Tensor& bytes, int64_t dim, int64_t other) {
  const int64_t length = bytes.size(dim);
  int64_t kept = std::min(length, 3 * other);
  kept += (length - kept) % 2;
  return bytes.narrow(dim, (length - kept) / 2, kept);
}

at::Tensor Cropped(const at::Tensor& all, int64_t side, PixelSpec::Filter filter) {
  const int64_t height = all.size(1), width = all.size(2);
  const at::Tensor bytes = WithoutFarEnds(WithoutFarEnds(all, 1, width), 2, height);
  const int64_t shorter = std::min(bytes.size(1), bytes.size(2));
  const int64_t rows = side * bytes.size(1) / shorter, columns = side * bytes.size(2) / shorter;
  // A half is rounded to the even number, as Python does.
  const auto before = [&](int64_t length) {
    return static_cast<int64_t>(std::nearbyint(static_cast<double>(length - side) / 2));
  };
  return ResizedInWholes(bytes, columns, rows, filter)
      .narrow(1, before(rows), side)
      .narrow(2, before(columns), side);
}

}  // namespace

absl::Status CheckPixels(const Pixels& pixels) {
  if (pixels.width < 1 || pixels.height < 1) {
    return absl::InvalidArgumentError("has no pixels");
  }
  const uint64_t bytes = uint64_t{3} * pixels.width * pixels.height;
  if (pixels.rgb.size() != bytes) {
    return absl::InvalidArgumentError(absl::StrCat("has ", pixels.rgb.size(), " bytes of pixels, ",
                                                   pixels.width, " x ", pixels.height, " needs ",
                                                   bytes));
  }
  return absl::OkStatus();
}

at::Tensor SquarePicture(const Pixels& original, int64_t side, const TensorGate& gate) {
  const Pixels pixels = ReducePicture(original, side);
  const int64_t longer = std::max(pixels.width, pixels.height);
  const int64_t width = ScaledSide(pixels.width, longer, side);
  const int64_t height = ScaledSide(pixels.height, longer, side);
  at::Tensor square = at::ones({3, side, side}, gate.device());
  square.narrow(1, (side - height) / 2, height)
      .narrow(2, (side - width) / 2, width)
      .copy_(Resized(gate.In(BytesOf(pixels)), width, height, PixelSpec::BICUBIC) / 255);
  return square;
}

at::Tensor ScaledPicture(const Pixels& original, const PixelSpec& spec, const TensorGate& gate) {
  const int64_t side = spec.image_size();
  const Pixels pixels = ReduceForScaling(original, side);
  const at::Tensor bytes = gate.In(BytesOf(pixels));
  const at::Tensor square = spec.fit() == PixelSpec::CROP
                                ? Cropped(bytes, side, spec.filter())
                                : ResizedInWholes(bytes, side, side, spec.filter());
  return (square / 255 - PerChannel(spec.mean(), gate)) /
         PerChannel(spec.standard_deviation(), gate);
}

Pixels ReduceForScaling(Pixels pixels, int64_t side) {
  return ShrinkTowards(std::move(pixels), static_cast<int>(2 * side));
}

absl::StatusOr<std::vector<RegionSet>> PictureExtractor::Extract(absl::Span<const Pixels> images,
                                                                 const CallContext& call) const {
  std::vector<RegionSet> sets(images.size());
  RETURN_IF_ERROR(ForEach(images, call, [&](size_t i) {
    return ExtractOne(images[i], &sets[i], /*soft_labels=*/nullptr);
  }));
  return sets;
}

absl::StatusOr<std::vector<LabelledRegions>> PictureExtractor::ExtractLabelled(
    absl::Span<const Pixels> images, const CallContext& call) const {
  std::vector<LabelledRegions> found(images.size());
  RETURN_IF_ERROR(ForEach(images, call, [&](size_t i) {
    return ExtractOne(images[i], &found[i].regions, &found[i].soft_labels);
  }));
  return found;
}

absl::Status PictureExtractor::ForEach(
    absl::Span<const Pixels> images, const CallContext& call,
    const std::function<absl::Status(size_t image)>& extract) const {
  std::vector<Group> groups(images.size());
  for (size_t i = 0; i < images.size(); ++i) {
    const absl::Status status = CheckPixels(images[i]);
    if (!status.ok()) {
      return absl::InvalidArgumentError(absl::StrCat("image ", i, " ", status.message()));
    }
    groups[i] = {static_cast<int64_t>(i)};
  }
  const absl::Status done =
      RunGroups(pool_, groups, call, "extract regions",
                [&](const Group& group) { return extract(static_cast<size_t>(group[0])); });
  if (failed_ != nullptr && HasReason(done, reasons::kDeviceFailed)) *failed_ = true;
  return done;
}

Pixels PictureExtractor::Reduce(Pixels image) const {
  return CheckPixels(image).ok() ? Reduced(std::move(image)) : image;
}

}  // namespace sightline
