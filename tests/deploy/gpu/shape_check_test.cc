// What stack_check does with each of its shapes, on a device that is the host: the kernels'
// arithmetic is as close as is asked of a GPU, and one that is not is found.
#include "deploy/gpu/shape_check.h"

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/base/compute_pool.h"
#include "tests/common/kernels/host_stack_devices.h"
#include "tests/support/catch.h"

namespace sightline::kernels {
namespace {

// Computes heads of half the numbers.
class OfOtherHeads : public HostStackDevices {
 public:
  absl::StatusOr<std::unique_ptr<DeviceStack>> New(const DeviceStackOptions& options,
                                                   int device) const override {
    DeviceStackOptions other = options;
    other.shape.head_count *= 2;
    return HostStackDevices::New(other, device);
  }
};

// Small, for the host takes its time.
constexpr StackShape kShape = {40, 2, 64, 1e-12f};
const std::vector<int64_t> kLengths = {1, 3, 17};

TEST_CASE("every bias and readout is close on a device") {
  ComputePool pool(2);
  const HostStackDevices devices;
  nlohmann::json shapes;
  REQUIRE(CheckShape(kShape, kLengths, &devices, 0, &pool, &shapes));
  std::set<std::string> seen;
  for (const nlohmann::json& each : shapes) {
    CAPTURE(each.dump());
    REQUIRE(each["off_by"].get<double>() > 0);
    // Room for sums in another order.
    REQUIRE(each["off_by"].get<double>() < each["allowed"].get<double>() / 2);
    seen.insert(each["precision"].dump() + each["has_bias"].dump() + each["readout"].dump());
  }
  REQUIRE(seen.size() == 2 * 2 * 3);
}

TEST_CASE("heads of another size are found in each precision") {
  ComputePool pool(2);
  const OfOtherHeads devices;
  nlohmann::json shapes;
  REQUIRE_FALSE(CheckShape(kShape, kLengths, &devices, 0, &pool, &shapes));
  for (const nlohmann::json& each : shapes) REQUIRE(each["wrong"] == "too far from the CPU");
}

}  // namespace
}  // namespace sightline::kernels
