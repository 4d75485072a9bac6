#include "common/kernels/device_stack.h"

#include <algorithm>
#include <limits>

#include "common/device/product.h"
#include "common/kernels/device_linear.h"
#include "common/kernels/pass_layout.h"

namespace sightline::kernels {
namespace {

int64_t AtMost(double bytes) {
  constexpr auto kMost = std::numeric_limits<int64_t>::max();
  return bytes < static_cast<double>(kMost) ? static_cast<int64_t>(bytes) : kMost;
}

}  // namespace

int64_t BytesOfStack(const DeviceStackOptions& options) {
  const double hidden = static_cast<double>(options.shape.hidden_size);
  const double middle = static_cast<double>(options.shape.intermediate_size);
  const double number = options.precision == kStackPrecisions[0] ? 4 : 2;
  const double rows = static_cast<double>(BucketRows(options.limits.rows));
  const double block =
      number * (4 * hidden * hidden + 4 * hidden + 2 * hidden * middle + middle + hidden) +
      4 * 4 * hidden;
  const double pass =
      static_cast<double>(MostPassBytes(options.limits, options.shape.hidden_size)) +
      4 * rows * hidden;
  const double between = number * rows * (4 * hidden + std::max(3 * hidden, middle));
  return AtMost(static_cast<double>(options.block_count) * block + kPassPlaces * pass + between +
                static_cast<double>(device::kWorkspaceBytes));
}

int64_t BytesOfLinear(int64_t inputs, int64_t outputs) {
  const double stride = static_cast<double>(LinearStride(inputs));
  const double width = static_cast<double>(outputs);
  const double place = 4 * static_cast<double>(kMostLinearRows) * (stride + width) +
                       static_cast<double>(device::kWorkspaceBytes);
  return AtMost(4 * (width * stride + width) + kLinearPlaces * place);
}

}  // namespace sightline::kernels
