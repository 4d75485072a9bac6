// The stack of a device, run on the host block by block, against blocks in doubles.
#include "common/kernels/device_block_stack.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "common/base/error_details.h"
#include "common/base/float16.h"
#include "common/device/block.h"
#include "common/device/host_device.h"
#include "common/device/pass_watch.h"
#include "common/device/product.h"
#include "tests/common/kernels/reference_blocks.h"
#include "tests/support/catch.h"

namespace sightline::kernels {
namespace {

using Catch::Contains;
using device::Bfloat16;
using device::HostDevice;

constexpr StackReadout kReadouts[] = {StackReadout::kAllRows, StackReadout::kFirstRows,
                                      StackReadout::kMeanRows};

DeviceStackOptions OptionsOf(const RandomBlocks& blocks, PassLimits limits = {300, 200}) {
  DeviceStackOptions options;
  options.shape = blocks.shape;
  options.block_count = static_cast<int64_t>(blocks.blocks.size());
  options.limits = limits;
  options.precision = "float32";
  return options;
}

template <typename Number>
std::unique_ptr<DeviceStack> StackOf(const RandomBlocks& blocks, HostDevice device = HostDevice(),
                                     PassLimits limits = {300, 200},
                                     std::shared_ptr<device::PassWatch> watch = nullptr) {
  DeviceStackOptions options = OptionsOf(blocks, limits);
  options.watch = std::move(watch);
  options.precision = kStackPrecisions[std::is_same_v<Number, float> ? 0 : 1];
  auto stack = NewDeviceStack<HostDevice, device::PlainProducts>(std::move(device), options);
  REQUIRE(stack.ok());
  for (const BlockWeights& block : blocks.blocks) REQUIRE((*stack)->Add(block).ok());
  return *std::move(stack);
}

std::vector<float> Run(DeviceStack* stack, const Batch& batch, bool has_bias,
                       StackReadout readout) {
  const size_t rows =
      readout == StackReadout::kAllRows ? batch.rows.size() / batch.hidden : batch.lengths.size();
  std::vector<float> out(rows * batch.hidden);
  const std::vector<RowPart> parts = {batch.Whole()};
  const absl::Status done = stack->Run(batch.View(parts, has_bias), readout, out.data());
  INFO(done);
  REQUIRE(done.ok());
  return out;
}

// Of the last rows what is read.
Matrix Read(const Matrix& rows, const std::vector<int64_t>& lengths, StackReadout readout) {
  if (readout == StackReadout::kAllRows) return rows;
  Matrix read;
  int64_t begin = 0;
  for (const int64_t length : lengths) {
    read.push_back(rows[begin]);
    for (int64_t r = 1; r < length && readout == StackReadout::kMeanRows; ++r) {
      for (size_t i = 0; i < read.back().size(); ++i) read.back()[i] += rows[begin + r][i];
    }
    for (double& number : read.back()) {
      if (readout == StackReadout::kMeanRows) number /= static_cast<double>(length);
    }
    begin += length;
  }
  return read;
}

double RootMeanSquare(const std::vector<float>& found, const Matrix& expected) {
  const size_t columns = expected[0].size();
  REQUIRE(found.size() == expected.size() * columns);
  double squares = 0;
  for (size_t i = 0; i < found.size(); ++i) {
    squares += std::pow(found[i] - expected[i / columns][i % columns], 2);
  }
  return std::sqrt(squares / static_cast<double>(found.size()));
}

template <typename Number>
void CheckAgainstReferee(const StackShape& shape, double allowed) {
  const RandomBlocks blocks(shape, 2);
  // One of several tiles of queries, some of a part of one, and lone rows.
  const Batch batch = RandomBatch({3, 1, 70, 64, 17, 1}, shape.hidden_size);
  const auto stack = StackOf<Number>(blocks);
  for (const bool has_bias : {false, true}) {
    const Matrix expected = ExpectedRows(blocks, batch, has_bias);
    for (const StackReadout readout : kReadouts) {
      CAPTURE(shape.hidden_size, shape.head_count, has_bias, static_cast<int>(readout));
      const std::vector<float> first = Run(stack.get(), batch, has_bias, readout);
      REQUIRE(RootMeanSquare(first, Read(expected, batch.lengths, readout)) < allowed);
      // In the other place, and what was recorded in each.
      for (int i = 1; i < (has_bias ? 1 : 2 * kPassPlaces); ++i) {
        REQUIRE(Run(stack.get(), batch, has_bias, readout) == first);
      }
    }
  }
}

TEST_CASE("what is read of the last rows is that of the blocks in doubles") {
  for (const StackShape& shape : {StackShape{8, 2, 16, 1e-12f}, StackShape{48, 2, 200, 1e-12f},
                                  StackShape{64, 1, 96, 1e-5f}, StackShape{96, 1, 32, 1e-12f},
                                  StackShape{40, 8, 40, 1e-5f}, StackShape{264, 3, 16, 1e-5f}}) {
    CheckAgainstReferee<float>(shape, 2e-5);
  }
  for (const StackShape& shape : {StackShape{8, 2, 16, 1e-12f}, StackShape{64, 1, 96, 1e-5f},
                                  StackShape{264, 3, 16, 1e-5f}}) {
    CheckAgainstReferee<Bfloat16>(shape, 0.06);
  }
}

TEST_CASE("passes of other buckets between them change nothing") {
  const StackShape shape{32, 2, 64, 1e-12f};
  const RandomBlocks blocks(shape, 3);
  const auto stack = StackOf<float>(blocks);
  const std::vector<std::vector<int64_t>> passes = {{90, 20, 50},    {1},    {2, 3, 4}, {70},
                                                    {1, 1, 1, 1, 1}, {66, 1}};
  for (int round = 0; round < 2; ++round) {
    for (const std::vector<int64_t>& lengths : passes) {
      const Batch batch = RandomBatch(lengths, shape.hidden_size);
      for (const StackReadout readout : kReadouts) {
        const bool has_bias = (lengths.size() + round) % 2 == 0;
        const Matrix expected = Read(ExpectedRows(blocks, batch, has_bias), lengths, readout);
        REQUIRE(RootMeanSquare(Run(stack.get(), batch, has_bias, readout), expected) < 3e-5);
      }
    }
  }
}

TEST_CASE("a sequence has the same bits alone and in any pass of plain products") {
  const StackShape shape{32, 2, 64, 1e-12f};
  const RandomBlocks blocks(shape, 2);
  const auto stack = StackOf<Bfloat16>(blocks);
  const Batch batch = RandomBatch({12, 70, 1, 33}, shape.hidden_size);
  const std::vector<float> all = Run(stack.get(), batch, false, StackReadout::kAllRows);
  const std::vector<float> means = Run(stack.get(), batch, false, StackReadout::kMeanRows);
  int64_t begin = 0;
  for (size_t i = 0; i < batch.lengths.size(); ++i) {
    const auto row = batch.rows.begin() + begin * shape.hidden_size;
    const int64_t numbers = batch.lengths[i] * shape.hidden_size;
    const Batch alone{{batch.lengths[i]}, {row, row + numbers}, {}, shape.hidden_size};
    const std::vector<float> rows = Run(stack.get(), alone, false, StackReadout::kAllRows);
    REQUIRE(std::equal(rows.begin(), rows.end(), all.begin() + begin * shape.hidden_size));
    const std::vector<float> mean = Run(stack.get(), alone, false, StackReadout::kMeanRows);
    REQUIRE(std::equal(mean.begin(), mean.end(),
                       means.begin() + static_cast<int64_t>(i) * shape.hidden_size));
    begin += batch.lengths[i];
  }
}

TEST_CASE("rows are read as they are stored, and those that are named twice are copied once") {
  const StackShape shape{24, 2, 16, 1e-12f};
  const RandomBlocks blocks(shape, 1);
  const auto stack = StackOf<float>(blocks);
  std::mt19937 generator(3);
  const std::vector<float> words = Normal(2 * 24, 1, &generator);
  const std::vector<float> seen = Normal(3 * 24, 1, &generator);
  std::vector<char> halves(3 * 24 * 2 + 1);
  Float32ToFloat16(seen.data(), seen.size(), halves.data() + 1);
  std::vector<int8_t> integers;
  for (int i = 0; i < 2 * 24; ++i) integers.push_back(static_cast<int8_t>(i * 5 % 255 - 127));
  const std::vector<float> scales = {0.01f, 0.02f};
  const RowPart text = {words.data(), Dtype::kFloat32, nullptr, 2};
  const RowPart picture = {halves.data() + 1, Dtype::kFloat16, nullptr, 3};
  const RowPart nothing = {nullptr, Dtype::kFloat32, nullptr, 0};
  const RowPart another = {integers.data(), Dtype::kInt8, scales.data(), 2};
  const std::vector<RowPart> parts = {text, picture, nothing, text, another, text};
  Batch batch;
  batch.hidden = 24;
  batch.lengths = {5, 4, 1, 1};
  for (const RowPart& part : parts) {
    std::vector<float> rows(part.rows * 24);
    ReadRows(part, 24, rows.data());
    batch.rows.insert(batch.rows.end(), rows.begin(), rows.end());
  }
  std::vector<float> out(batch.rows.size());
  REQUIRE(stack->Run(batch.View(parts, false), StackReadout::kAllRows, out.data()).ok());
  REQUIRE(out == Run(stack.get(), batch, false, StackReadout::kAllRows));

  const Sequences sequences = batch.View(parts, false);
  const PassLayout layout(BucketOf(sequences, StackReadout::kAllRows), 24);
  std::vector<char> memory(layout.most);
  const int64_t bytes = WritePass(sequences, layout, 24, memory.data());
  CHECK(bytes - layout.numbers == 2 * 24 * 4 + 3 * 24 * 2 + 2 * 24);
}

TEST_CASE("buckets hold what is put into them, and little more") {
  int64_t buckets = 0;
  for (int64_t rows = 1; rows <= 20000; ++rows) {
    const int64_t bucket = BucketRows(rows);
    REQUIRE(bucket >= rows);
    REQUIRE(bucket <= std::max<int64_t>(rows + rows / 8 + 8, 16));
    REQUIRE(BucketRows(bucket) == bucket);
    if (bucket == rows) ++buckets;
  }
  CHECK(buckets < 90);
  // Of the most parts that there can be, each one row, none reaches beyond the memory.
  const int64_t columns = 3;
  std::vector<std::vector<float>> rows(64, std::vector<float>(columns, 1));
  std::vector<RowPart> parts;
  for (const auto& row : rows) parts.push_back({row.data(), Dtype::kFloat32, nullptr, 1});
  const std::vector<int64_t> lengths(64, 1);
  const Sequences sequences = {parts.data(), 64, nullptr, lengths.data(), 64};
  const PassLayout layout(BucketOf(sequences, StackReadout::kMeanRows), columns);
  std::vector<char> memory(layout.most);
  CHECK(WritePass(sequences, layout, columns, memory.data()) <= layout.most);
}

TEST_CASE("what a stack takes is told, and one that does not fit keeps nothing") {
  const RandomBlocks blocks(StackShape{16, 2, 24, 1e-12f}, 2);
  HostDevice device(int64_t{1} << 40);
  const int64_t before = device.free_bytes();
  int64_t needed = 0;
  {
    const auto stack = StackOf<float>(blocks, device);
    needed = before - device.free_bytes();
    // Plain products take none for themselves.
    CHECK(stack->byte_count() == needed + device::kWorkspaceBytes);
    CHECK(BytesOfStack(OptionsOf(blocks)) == stack->byte_count());
  }
  CHECK(device.free_bytes() == before);
  for (int64_t bytes = 0; bytes < needed; bytes += needed / 50) {
    HostDevice small(bytes);
    absl::Status status;
    {
      auto stack = NewDeviceStack<HostDevice, device::PlainProducts>(small, OptionsOf(blocks));
      status = stack.status();
      for (size_t i = 0; i < blocks.blocks.size() && status.ok(); ++i) {
        status = (*stack)->Add(blocks.blocks[i]);
      }
    }
    CHECK(absl::IsResourceExhausted(status));
    CHECK(small.free_bytes() == bytes);
  }
}

TEST_CASE("what no device has is refused") {
  const auto refused = [](const StackShape& shape, const std::string& precision = "float32") {
    DeviceStackOptions options;
    options.shape = shape;
    options.block_count = 1;
    options.precision = precision;
    const auto stack = NewDeviceStack<HostDevice, device::PlainProducts>(HostDevice(), options);
    return absl::IsInvalidArgument(stack.status());
  };
  CHECK(refused({256, 1, 64, 1e-12f}));  // a head of 256
  CHECK(refused({16, 2, 64, 1e-12f}, "int8"));
  CHECK(refused({1032, 12, 64, 1e-12f}));
  CHECK(refused({12, 2, 64, 1e-12f}));
  CHECK(refused({16, 2, 60, 1e-12f}));
  const RandomBlocks blocks(StackShape{16, 2, 24, 1e-12f}, 1);
  const auto stack = StackOf<float>(blocks, HostDevice(), {20, 3});
  CHECK(absl::IsFailedPrecondition(stack->Add(blocks.blocks[0])));
  std::vector<float> out(40 * 16);
  const auto run = [&](std::vector<int64_t> lengths) {
    const Batch batch = RandomBatch(std::move(lengths), 16);
    const std::vector<RowPart> parts = {batch.Whole()};
    return stack->Run(batch.View(parts, false), StackReadout::kFirstRows, out.data());
  };
  CHECK(run({20}).ok());
  CHECK(run({18, 1, 1}).ok());
  CHECK(absl::IsInvalidArgument(run({21})));
  CHECK(absl::IsInvalidArgument(run({1, 1, 1, 1})));
  CHECK(run({}).ok());
  CHECK(absl::IsInvalidArgument(run({3, 0})));
  const Batch batch = RandomBatch({3, 4}, 16);
  for (const int64_t rows : {6, 8}) {
    const std::vector<RowPart> parts = {{batch.rows.data(), Dtype::kFloat32, nullptr, rows}};
    CHECK(absl::IsInvalidArgument(
        stack->Run(batch.View(parts, false), StackReadout::kAllRows, out.data())));
  }
  auto unfinished =
      NewDeviceStack<HostDevice, device::PlainProducts>(HostDevice(), OptionsOf(blocks));
  const std::vector<RowPart> whole = {batch.Whole()};
  CHECK(absl::IsFailedPrecondition(
      (*unfinished)->Run(batch.View(whole, false), StackReadout::kAllRows, out.data())));
}

TEST_CASE("where nothing can be recorded a stack does as well") {
  const RandomBlocks blocks(StackShape{16, 2, 24, 1e-12f}, 2);
  HostDevice device;
  device.RefuseToRecord();
  const auto stack = StackOf<float>(blocks, device);
  const Batch batch = RandomBatch({3, 4}, 16);
  const Matrix expected = ExpectedRows(blocks, batch, false);
  for (int i = 0; i < 3; ++i) {
    const std::vector<float> rows = Run(stack.get(), batch, false, StackReadout::kAllRows);
    REQUIRE(RootMeanSquare(rows, expected) < 2e-5);
  }
}

TEST_CASE("a device that fails is an error, and what lay on it is not asked for again") {
  const RandomBlocks blocks(StackShape{16, 2, 24, 1e-12f}, 1);
  HostDevice device;
  const auto stack = StackOf<float>(blocks, device);
  const Batch batch = RandomBatch({3, 4}, 16);
  const std::vector<RowPart> parts = {batch.Whole()};
  std::vector<float> out(batch.rows.size());
  const auto run = [&] {
    return stack->Run(batch.View(parts, false), StackReadout::kAllRows, out.data());
  };
  CHECK(run().ok());
  const absl::Status failure = MakeError(reasons::kDeviceFailed, "fell off the bus");
  device.Break(failure);
  CHECK(run() == failure);
  CHECK(device.waiting() == 0);
  device.Break(absl::OkStatus());
  CHECK(run() == failure);
}

TEST_CASE("a pass that ends anywhere leaves nothing under way, and the next one is whole") {
  const RandomBlocks blocks(StackShape{16, 2, 24, 1e-12f}, 1);
  const Batch batch = RandomBatch({3, 4}, 16);
  const std::vector<RowPart> parts = {batch.Whole()};
  for (const bool records : {false, true}) {
    HostDevice device;
    if (!records) device.RefuseToRecord();
    const auto stack = StackOf<float>(blocks, device);
    // In both places, so that what can be recorded is.
    const std::vector<float> whole = Run(stack.get(), batch, false, StackReadout::kAllRows);
    REQUIRE(Run(stack.get(), batch, false, StackReadout::kAllRows) == whole);
    int failed = 0;
    for (absl::Status done = absl::UnknownError(""); !done.ok(); ++failed) {
      CAPTURE(records, failed);
      device.BreakAfter(failed, absl::ResourceExhaustedError("no room"));
      std::vector<float> out(whole.size());
      done = stack->Run(batch.View(parts, false), StackReadout::kAllRows, out.data());
      REQUIRE((done.ok() || absl::IsResourceExhausted(done)));
      REQUIRE(device.waiting_in_all() == 0);
      device.Break(absl::OkStatus());
      device.BreakAfter(-1, absl::OkStatus());
      REQUIRE(Run(stack.get(), batch, false, StackReadout::kAllRows) == whole);
    }
    REQUIRE(failed > 10);  // a copy, an order, launches of each step, a copy
  }
}

class PassCounter : public device::PassWatch {
 public:
  void Ended(const device::PassStats* pass) override { count += pass != nullptr ? 1 : 0; }
  int count = 0;
};

TEST_CASE("after warming up no pass of the usual shape is the first of its bucket") {
  const RandomBlocks blocks(StackShape{16, 2, 24, 1e-12f}, 1);
  HostDevice device;
  const auto passes = std::make_shared<PassCounter>();
  const auto stack = StackOf<float>(blocks, device, {100, 50}, passes);
  REQUIRE(stack->WarmUp(StackReadout::kFirstRows, /*has_bias=*/false, /*usual_length=*/10).ok());
  const int64_t launches = device.launches();
  CHECK(launches > 0);
  CHECK(passes->count == 0);  // they are nobody's
  // What was recorded is asked for without a launch.
  for (const int64_t count : {1, 2, 4, 7, 10}) {
    Run(stack.get(), RandomBatch(std::vector<int64_t>(count, 10), 16), false,
        StackReadout::kFirstRows);
    CHECK(device.launches() == launches);
  }
  CHECK(passes->count == 5);
}

}  // namespace
}  // namespace sightline::kernels
