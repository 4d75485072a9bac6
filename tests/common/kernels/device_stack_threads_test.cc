// Threads that share a stack on a device: run under the thread sanitizer.
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "common/kernels/device_stack.h"
#include "tests/common/kernels/host_stack_devices.h"
#include "tests/common/kernels/reference_blocks.h"
#include "tests/support/catch.h"

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

}  // namespace
}  // namespace sightline::kernels
