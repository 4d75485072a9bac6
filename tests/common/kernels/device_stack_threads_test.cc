// Threads that share a stack on a device: run under the thread sanitizer.
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/device/host_device.h"
#include "common/device/product.h"
#include "common/kernels/device_block_stack.h"
#include "common/kernels/device_stack.h"
#include "tests/common/kernels/host_stack_devices.h"
#include "tests/common/kernels/reference_blocks.h"
#include "tests/support/catch.h"
#include "tests/support/gate.h"

namespace sightline::kernels {
namespace {

TEST_CASE("passes of several threads take turns, and each reads its own rows") {
  const RandomBlocks blocks(StackShape{16, 2, 24, 1e-12f}, 2);
  const HostStackDevices devices;
  const auto stack = devices.New({blocks.shape, 2, kStackPrecisions[0], {40, 20}}, 0);
  REQUIRE(stack.ok());
  for (const BlockWeights& block : blocks.blocks) REQUIRE((*stack)->Add(block).ok());
  const std::vector<std::vector<int64_t>> lengths = {{3, 4}, {20}, {1, 1, 1}, {8, 9, 10}};
  std::vector<std::vector<float>> alone(lengths.size());
  const auto run = [&](size_t i) {
    const Batch batch = RandomBatch(lengths[i], 16);
    const std::vector<RowPart> parts = {batch.Whole()};
    std::vector<float> out(lengths[i].size() * 16);
    const absl::Status done =
        (*stack)->Run(batch.View(parts, false), StackReadout::kMeanRows, out.data());
    return done.ok() ? out : std::vector<float>();
  };
  for (size_t i = 0; i < lengths.size(); ++i) {
    alone[i] = run(i);
    REQUIRE_FALSE(alone[i].empty());
  }
  std::vector<int> wrong(lengths.size(), 0);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < lengths.size(); ++i) {
    threads.emplace_back([&, i] {
      for (int round = 0; round < 10; ++round) wrong[i] += run(i) == alone[i] ? 0 : 1;
    });
  }
  for (std::thread& thread : threads) thread.join();
  REQUIRE(wrong == std::vector<int>(lengths.size(), 0));
}

// What a device computes, which does not end before a second pass has been asked for.
struct AwaitGate {
  static constexpr int kThreads = 32;
  static constexpr int kBlocksAtOnce = 1;
  struct Shared {};

  Gate* gate = nullptr;

  template <typename Block>
  void operator()(Block& block, Shared& /*shared*/) const {
    block.Step([&](int thread) {
      if (thread == 0) gate->Wait();
    });
  }
};

class GatedProducts : public device::PlainProducts {
 public:
  static absl::StatusOr<GatedProducts> Open(device::HostDevice* /*device*/) {
    return GatedProducts();
  }

  static absl::Status Multiply(device::HostDevice* device,
                               const device::DeviceProduct<float>& product) {
    const int number = asked++;
    if (number == kOfPass) second_asked->Open();
    if (number < kOfPass) {
      const absl::Status asked_to_wait = device->Launch(1, AwaitGate{second_asked});
      if (!asked_to_wait.ok()) return asked_to_wait;
    }
    return device::PlainProducts::Multiply(device, product);
  }

  static constexpr int kOfPass = 4;  // products, of a stack of one block
  static inline std::atomic<int> asked{0};
  static inline Gate* second_asked = nullptr;
};

TEST_CASE("a pass is asked for before the one ahead of it has ended") {
  const RandomBlocks blocks(StackShape{16, 2, 24, 1e-12f}, 1);
  Gate second_asked;
  GatedProducts::second_asked = &second_asked;
  // Nothing is recorded, so that each pass asks for its products.
  device::HostDevice device;
  device.RefuseToRecord();
  const auto stack = DeviceBlockStack<device::HostDevice, GatedProducts, float>::Make(
      device, {blocks.shape, 1, kStackPrecisions[0], {40, 20}});
  REQUIRE(stack.ok());
  REQUIRE((*stack)->Add(blocks.blocks[0]).ok());
  const Batch batch = RandomBatch({3, 4}, 16);
  const std::vector<RowPart> parts = {batch.Whole()};
  std::vector<std::vector<float>> outs(3, std::vector<float>(2 * 16));
  std::vector<absl::Status> statuses(outs.size());
  const auto run = [&](size_t i) {
    statuses[i] = (*stack)->Run(batch.View(parts, false), StackReadout::kMeanRows, outs[i].data());
  };
  std::vector<std::thread> threads;
  for (size_t i = 0; i < 2; ++i) threads.emplace_back(run, i);
  for (std::thread& thread : threads) thread.join();
  REQUIRE(GatedProducts::asked == 2 * GatedProducts::kOfPass);
  run(2);
  for (const absl::Status& status : statuses) REQUIRE(status == absl::OkStatus());
  REQUIRE(outs[0] == outs[2]);
  REQUIRE(outs[1] == outs[2]);
}

}  // namespace
}  // namespace sightline::kernels
