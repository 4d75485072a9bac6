#include "services/trainer/square_picture.h"

#include <torch/types.h>

#include "common/base/status_macros.h"
#include "common/models/inference.h"
#include "common/models/network/pictures.h"

namespace sightline {

absl::StatusOr<std::string> SquareBytes(const Pixels& pixels, int64_t side) {
  RETURN_IF_ERROR(CheckPixels(pixels));
  std::string bytes;
  RETURN_IF_ERROR(RunGuarded("lay a picture on a square", [&] {
    UseSingleThreadedTorch();
    const torch::NoGradGuard no_autograd;
    const torch::Tensor square =
        SquarePicture(pixels, side).mul(255).round().clamp(0, 255).to(torch::kUInt8).contiguous();
    bytes.assign(reinterpret_cast<const char*>(square.data_ptr<uint8_t>()),
                 static_cast<size_t>(square.numel()));
    return absl::OkStatus();
  }));
  return bytes;
}

}  // namespace sightline
