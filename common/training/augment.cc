#include "common/training/augment.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <cmath>

namespace sightline {
namespace {

// What one picture goes through, as a row of numbers: one copy to the device for a batch.
enum Column : int64_t {
  kMap = 0,  // 2 x 3: a place of the result, -1 to 1, to the place it is taken from
  kBrightness = 6,
  kContrast,
  kSaturation,
  kHole,  // left, right, top, bottom, -1 to 1
  kColumns = kHole + 4,
};

bool Moves(const AugmentOptions& o) {
  return o.scale > 0 || o.shift > 0 || o.rotation_degrees > 0 || o.flip_probability > 0;
}
bool Colours(const AugmentOptions& o) {
  return o.brightness > 0 || o.contrast > 0 || o.saturation > 0 || o.grey_probability > 0;
}
bool Erases(const AugmentOptions& o) {
  return o.erase_probability > 0 && o.erase_side > 0;
}

void DrawMap(const AugmentOptions& options, Random* random, float* map) {
  const double scale = random->Between(1 - options.scale, 1 + options.scale);
  const double angle = random->Between(-1, 1) * options.rotation_degrees * std::acos(-1.0) / 180;
  const double x = 2 * random->Between(-options.shift, options.shift);
  const double y = 2 * random->Between(-options.shift, options.shift);
  const double mirror = random->Chance(options.flip_probability) ? -1 : 1;
  const double cosine = std::cos(angle) / scale, sine = std::sin(angle) / scale;
  const double entries[6] = {mirror * cosine, mirror * sine, mirror * -(cosine * x + sine * y),
                             -sine,           cosine,        sine * x - cosine * y};
  for (int i = 0; i < 6; ++i) map[i] = static_cast<float>(entries[i]);
}

void DrawColours(const AugmentOptions& options, Random* random, float* row) {
  row[kBrightness] = random->Between(1 - options.brightness, 1 + options.brightness);
  // Even in the exponent: as often softer as harder.
  row[kContrast] = std::pow(1 + options.contrast, random->Between(-1, 1));
  row[kSaturation] = random->Between(1 - options.saturation, 1 + options.saturation);
  if (random->Chance(options.grey_probability)) row[kSaturation] = 0;
}

void DrawHole(const AugmentOptions& options, Random* random, float* hole) {
  const double width = 2 * random->Between(0, options.erase_side);
  const double height = 2 * random->Between(0, options.erase_side);
  const double left = random->Between(-1, 1 - width), top = random->Between(-1, 1 - height);
  const bool erase = random->Chance(options.erase_probability);
  hole[0] = left;
  hole[1] = erase ? left + width : left;
  hole[2] = top;
  hole[3] = top + height;
}

// Every picture draws the same number of times whatever is switched on.
at::Tensor DrawChanges(int64_t count, const AugmentOptions& options, Random* random) {
  at::Tensor changes = at::empty({count, kColumns});
  float* row = changes.data_ptr<float>();
  for (int64_t i = 0; i < count; ++i, row += kColumns) {
    DrawMap(options, random, row + kMap);
    DrawColours(options, random, row);
    DrawHole(options, random, row + kHole);
  }
  return changes;
}

at::Tensor PerPicture(const at::Tensor& changes, int64_t column) {
  return changes.select(1, column).view({-1, 1, 1, 1});
}

at::Tensor Coloured(const at::Tensor& ink, const at::Tensor& changes) {
  at::Tensor x = (ink * PerPicture(changes, kBrightness)).clamp_max_(1);
  x = x.pow_(PerPicture(changes, kContrast));
  // Luma of ITU-R BT.601.
  const at::Tensor grey = x.select(1, 0) * 0.299 + x.select(1, 1) * 0.587 + x.select(1, 2) * 0.114;
  return at::lerp(grey.unsqueeze(1), x, PerPicture(changes, kSaturation)).clamp_(0, 1);
}

at::Tensor Moved(const at::Tensor& ink, const at::Tensor& changes) {
  const at::Tensor map = changes.narrow(1, kMap, 6).reshape({-1, 2, 3});
  const at::Tensor places = at::affine_grid_generator(map, ink.sizes(), /*align_corners=*/false);
  return at::grid_sampler(ink, places, /*interpolation_mode=*/0, /*padding_mode=*/0,
                          /*align_corners=*/false);
}

at::Tensor Erased(const at::Tensor& ink, const at::Tensor& changes) {
  const int64_t side = ink.size(2);
  // Centres of pixels.
  const at::Tensor at = (at::arange(side, ink.options()) * 2 + 1) / side - 1;
  const at::Tensor x = at.view({1, 1, 1, side}), y = at.view({1, 1, side, 1});
  const at::Tensor hole = x.ge(PerPicture(changes, kHole))
                              .logical_and(x.lt(PerPicture(changes, kHole + 1)))
                              .logical_and(y.ge(PerPicture(changes, kHole + 2)))
                              .logical_and(y.lt(PerPicture(changes, kHole + 3)));
  return ink.masked_fill(hole, 0);
}

at::Tensor ViewOf(const TrainingSet& set) {
  const int64_t side = set.image_size();
  // from_blob wants a mutable pointer; nothing writes to it.
  return at::from_blob(const_cast<uint8_t*>(set.pictures()), {set.row_count(), 3, side, side},
                       at::kByte);
}

}  // namespace

Pictures::Pictures(const TrainingSet& set, c10::Device device) : bytes_(ViewOf(set).to(device)) {}

at::Tensor Pictures::Take(const std::vector<int64_t>& rows) const {
  return bytes_.index_select(0, at::tensor(rows, at::kLong).to(bytes_.device()));
}

at::Tensor PlainPictures(const at::Tensor& bytes) {
  return bytes.to(at::kFloat) / 255;
}

at::Tensor AugmentPictures(const at::Tensor& bytes, const AugmentOptions& options, Random* random) {
  at::NoGradGuard no_grad;
  const at::Tensor changes =
      DrawChanges(bytes.size(0), options, random).to(bytes.device(), /*non_blocking=*/true);
  if (!Colours(options) && !Moves(options) && !Erases(options)) return PlainPictures(bytes);
  at::Tensor ink = (255 - bytes.to(at::kFloat)) / 255;
  if (Colours(options)) ink = Coloured(ink, changes);
  if (Moves(options)) ink = Moved(ink, changes);
  if (Erases(options)) ink = Erased(ink, changes);
  return 1 - ink;
}

}  // namespace sightline
