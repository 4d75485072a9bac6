// A layer's products on a device, run on the host, against products in doubles.
#include "common/kernels/device_linear.h"

#include <cmath>
#include <cstdint>
#include <memory>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "common/base/error_details.h"
#include "common/device/host_device.h"
#include "common/device/pass_watch.h"
#include "common/device/product.h"
#include "common/kernels/device_row_products.h"
#include "tests/common/kernels/random_numbers.h"
#include "tests/support/catch.h"

namespace sightline::kernels {
namespace {

using device::HostDevice;
using RowProducts = DeviceRowProducts<HostDevice, device::PlainProducts>;

class CountingWatch : public device::PassWatch {
 public:
  void Began() override { ++began; }
  void Ended(const device::PassStats* pass) override {
    ++(pass == nullptr ? failed : ended);
    if (pass != nullptr) last = *pass;
  }

  int began = 0, ended = 0, failed = 0;
  device::PassStats last;
};

struct Layer {
  Layer(int64_t inputs, int64_t outputs) {
    std::mt19937 generator(3);
    weights = Normal(inputs * outputs, 0.5f, &generator);
    bias = Normal(outputs, 1, &generator);
    view = {weights.data(), bias.data(), outputs, inputs};
  }

  std::vector<float> Expected(const std::vector<float>& rows) const {
    std::vector<float> out;
    for (auto row = rows.begin(); row != rows.end(); row += view.inputs) {
      for (int64_t o = 0; o < view.outputs; ++o) {
        double sum = bias[o];
        for (int64_t i = 0; i < view.inputs; ++i)
          sum += double{row[i]} * weights[o * view.inputs + i];
        out.push_back(static_cast<float>(sum));
      }
    }
    return out;
  }

  DeviceLinearOptions Options(std::shared_ptr<device::PassWatch> watch = nullptr) const {
    return {view.inputs, view.outputs, std::move(watch)};
  }

  std::vector<float> weights, bias;
  LinearWeights view;
};

std::vector<float> Rows(int64_t count) {
  std::mt19937 generator(count);
  return Normal(count, 1, &generator);
}

void RequireNear(const std::vector<float>& found, const std::vector<float>& expected) {
  REQUIRE(found.size() == expected.size());
  for (size_t i = 0; i < found.size(); ++i) REQUIRE(std::abs(found[i] - expected[i]) < 1e-4);
}

TEST_CASE("rows of every width and number are multiplied as doubles are") {
  for (const auto& [inputs, outputs] : {std::pair{1, 3}, {8, 8}, {13, 5}, {70, 32}}) {
    const Layer layer(inputs, outputs);
    const auto watch = std::make_shared<CountingWatch>();
    const auto linear = *RowProducts::Make(HostDevice(), layer.view, layer.Options(watch));
    // Places are taken in turns: what a longer call has left in one is nobody's.
    for (const int64_t count : {int64_t{0}, int64_t{1}, int64_t{50}, int64_t{2}, int64_t{37},
                                kMostLinearRows, kMostLinearRows + 1, int64_t{3}}) {
      CAPTURE(inputs, outputs, count);
      const std::vector<float> rows = Rows(count * inputs);
      std::vector<float> out(count * outputs);
      REQUIRE(linear->Multiply(rows.data(), count, out.data()).ok());
      RequireNear(out, layer.Expected(rows));
    }
    REQUIRE(watch->ended == 8);
    REQUIRE(watch->last.bytes_out == 3 * outputs * 4);
  }
}

TEST_CASE("what a layer takes is told, and one that does not fit keeps nothing") {
  const Layer layer(13, 5);
  HostDevice device(int64_t{1} << 30);
  const int64_t before = device.free_bytes();
  {
    const auto linear = *RowProducts::Make(device, layer.view, layer.Options());
    // Plain products have no workspace.
    REQUIRE(before - device.free_bytes() ==
            linear->byte_count() - kLinearPlaces * device::kWorkspaceBytes);
    REQUIRE(linear->byte_count() == BytesOfLinear(13, 5));
  }
  REQUIRE(device.free_bytes() == before);
  HostDevice small(100000);
  const auto linear = RowProducts::Make(small, layer.view, layer.Options());
  REQUIRE(absl::IsResourceExhausted(linear.status()));
  REQUIRE(small.free_bytes() == 100000);
  REQUIRE(BytesOfLinear(INT32_MAX, INT32_MAX) == INT64_MAX);
}

TEST_CASE("a device that fails is an error of whoever asks") {
  const Layer layer(13, 5);
  HostDevice device;
  const auto watch = std::make_shared<CountingWatch>();
  const auto linear = *RowProducts::Make(device, layer.view, layer.Options(watch));
  const std::vector<float> rows = Rows(13);
  std::vector<float> out(5);
  // At each of what a product asks for: the copies and the launch.
  for (int requests = 0; requests < 3; ++requests) {
    device.BreakAfter(requests, MakeError(reasons::kDeviceFailed, "fell off the bus"));
    const absl::Status status = linear->Multiply(rows.data(), 1, out.data());
    REQUIRE(HasReason(status, reasons::kDeviceFailed));
    REQUIRE(device.waiting_in_all() == 0);
    device.Break(absl::OkStatus());
  }
  REQUIRE(watch->failed == 3);
  REQUIRE(linear->Multiply(rows.data(), 1, out.data()).ok());
  RequireNear(out, layer.Expected(rows));
}

TEST_CASE("many threads multiply at once") {
  const Layer layer(13, 5);
  const auto linear = *RowProducts::Make(HostDevice(), layer.view, layer.Options());
  std::vector<std::vector<float>> found(8);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < found.size(); ++t) {
    threads.emplace_back([&, t] {
      for (int round = 0; round < 20; ++round) {
        const std::vector<float> rows = Rows(13 * static_cast<int64_t>(t + 1));
        found[t].resize(5 * (t + 1));
        if (!linear->Multiply(rows.data(), t + 1, found[t].data()).ok()) found[t].clear();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (size_t t = 0; t < found.size(); ++t) {
    RequireNear(found[t], layer.Expected(Rows(13 * static_cast<int64_t>(t + 1))));
  }
}

}  // namespace
}  // namespace sightline::kernels
