#include "common/training/changed_picture.h"

#include <ATen/ATen.h>

#include "common/base/status_macros.h"
#include "common/models/inference.h"
#include "common/training/augment.h"

namespace sightline {

absl::StatusOr<std::string> ChangedPicture(const TrainingSet& set, int64_t row,
                                           const AugmentOptions& options, Random* random) {
  std::string bytes;
  RETURN_IF_ERROR(RunGuarded("change a picture", [&] {
    UseSingleThreadedTorch();
    const int64_t side = set.image_size();
    // from_blob wants a mutable pointer; nothing writes to it.
    const at::Tensor planes =
        at::from_blob(const_cast<uint8_t*>(set.picture(row)), {1, 3, side, side}, at::kByte);
    const at::Tensor changed =
        AugmentPictures(planes, options, random).mul(255).round().to(at::kByte).contiguous();
    bytes.assign(reinterpret_cast<const char*>(changed.data_ptr<uint8_t>()),
                 static_cast<size_t>(changed.numel()));
    return absl::OkStatus();
  }));
  return bytes;
}

}  // namespace sightline
