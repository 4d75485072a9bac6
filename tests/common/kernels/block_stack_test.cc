// The stack in every precision of this CPU, against blocks in doubles.
#include "common/kernels/block_stack.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <vector>

#include "common/base/compute_pool.h"
#include "common/kernels/kernel_choice.h"
#include "common/kernels/pool_team.h"
#include "tests/common/kernels/reference_blocks.h"
#include "tests/support/catch.h"

// Of this thread.
static thread_local int64_t allocations = 0;

void* operator new(size_t size) {
  ++allocations;
  void* const memory = std::malloc(size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
// Catch2 has this one too, which the address sanitizer has of its own where it is not replaced.
void* operator new(size_t size, const std::nothrow_t&) noexcept {
  ++allocations;
  return std::malloc(size);
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, size_t) noexcept {
  std::free(memory);
}

namespace sightline::kernels {
namespace {

std::vector<float> Run(const BlockStack& stack, const Batch& batch, bool has_bias, bool first_only,
                       ComputePool* pool = nullptr) {
  const size_t rows = first_only ? batch.lengths.size() : batch.rows.size() / batch.hidden;
  std::vector<float> out(rows * batch.hidden);
  const std::vector<RowPart> parts = {batch.Whole()};
  RunWithTeam(pool, [&](Team* team) {
    stack.Run(batch.View(parts, has_bias), first_only, team, out.data());
  });
  return out;
}

BlockStack StackOf(const ProductKernel& kernel, const RandomBlocks& blocks) {
  BlockStack stack(kernel, blocks.shape);
  for (const BlockWeights& block : blocks.blocks) stack.Add(block);
  return stack;
}

double AllowedError(const ProductKernel& kernel) {
  const std::string precision = kernel.precision;
  // Of numbers around 1, through two blocks.
  if (precision == "float32") return 2e-5;
  if (precision == "bfloat16") return 0.06;
  return kernel.zero_point == 128 ? 0.15 : 0.25;
}

TEST_CASE("all rows and first rows are those of the blocks in doubles") {
  for (const StackShape& shape : {StackShape{8, 2, 12, 1e-12f}, StackShape{48, 2, 200, 1e-12f},
                                  StackShape{64, 1, 96, 1e-5f}}) {
    const RandomBlocks blocks(shape, 2);
    // One that is longer than what goes through a layer together, and more than go together.
    std::vector<int64_t> lengths = {3, 1, 100, 17, 17};
    if (shape.hidden_size == 8) lengths.insert(lengths.end(), 99, 2);
    const Batch batch = RandomBatch(lengths, shape.hidden_size);
    for (const bool has_bias : {false, true}) {
      const Matrix expected = ExpectedRows(blocks, batch, has_bias);
      int64_t begin = 0;
      for (const ProductKernel* kernel : KernelsOf(ThisCpu())) {
        INFO(kernel->instructions << " " << kernel->precision << ", " << shape.hidden_size);
        const BlockStack stack = StackOf(*kernel, blocks);
        const std::vector<float> all = Run(stack, batch, has_bias, /*first_only=*/false);
        double squares = 0;
        for (size_t i = 0; i < all.size(); ++i) {
          squares += std::pow(all[i] - expected[i / shape.hidden_size][i % shape.hidden_size], 2);
        }
        REQUIRE(std::sqrt(squares / all.size()) < AllowedError(*kernel));
        const std::vector<float> first = Run(stack, batch, has_bias, /*first_only=*/true);
        begin = 0;
        for (size_t i = 0; i < lengths.size(); ++i) {
          REQUIRE(std::memcmp(&first[i * shape.hidden_size], &all[begin * shape.hidden_size],
                              shape.hidden_size * sizeof(float)) == 0);
          begin += lengths[i];
        }
      }
    }
  }
}

TEST_CASE("a sequence has the same bits alone, in any batch, and with any team") {
  const StackShape shape{64, 4, 256, 1e-12f};
  const RandomBlocks blocks(shape, 2);
  const std::vector<int64_t> lengths = {12, 48, 1, 48, 100, 5};
  const Batch batch = RandomBatch(lengths, shape.hidden_size);
  ComputePool pool(3);
  for (const ProductKernel* kernel : KernelsOf(ThisCpu())) {
    INFO(kernel->instructions << " " << kernel->precision);
    const BlockStack stack = StackOf(*kernel, blocks);
    const std::vector<float> all = Run(stack, batch, /*has_bias=*/false, /*first_only=*/false);
    REQUIRE(all == Run(stack, batch, /*has_bias=*/false, /*first_only=*/false, &pool));
    REQUIRE(Run(stack, batch, /*has_bias=*/true, /*first_only=*/true) ==
            Run(stack, batch, /*has_bias=*/true, /*first_only=*/true, &pool));
    int64_t begin = 0;
    for (const int64_t length : lengths) {
      const auto row = batch.rows.begin() + begin * shape.hidden_size;
      const Batch alone{{length}, {row, row + length * shape.hidden_size}, {}, shape.hidden_size};
      const std::vector<float> rows = Run(stack, alone, /*has_bias=*/false, /*first_only=*/false);
      REQUIRE(std::equal(rows.begin(), rows.end(), all.begin() + begin * shape.hidden_size));
      begin += length;
    }
  }
}

TEST_CASE("rows may lie in parts, which need not end with a sequence") {
  const StackShape shape{8, 2, 12, 1e-12f};
  const BlockStack stack = StackOf(*KernelFor("float32", ThisCpu()), RandomBlocks(shape, 2));
  const Batch batch = RandomBatch({3, 1, 4}, shape.hidden_size);
  const float* const rows = batch.rows.data();
  const std::vector<RowPart> parts = {{rows, Dtype::kFloat32, nullptr, 2},
                                      {nullptr, Dtype::kFloat32, nullptr, 0},
                                      {rows + 2 * 8, Dtype::kFloat32, nullptr, 5},
                                      {rows + 7 * 8, Dtype::kFloat32, nullptr, 1}};
  std::vector<float> out(batch.rows.size());
  TeamOfOne one;
  stack.Run(batch.View(parts, /*has_bias=*/true), /*first_rows_only=*/false, &one, out.data());
  REQUIRE(out == Run(stack, batch, /*has_bias=*/true, /*first_only=*/false));
}

TEST_CASE("a layer allocates nothing") {
  const StackShape shape{64, 4, 256, 1e-12f};
  const Batch batch = RandomBatch({12, 48, 1, 48, 100, 5}, shape.hidden_size);
  for (const ProductKernel* kernel : KernelsOf(ThisCpu())) {
    INFO(kernel->instructions << " " << kernel->precision);
    for (const bool first_only : {false, true}) {
      std::vector<int64_t> counts;
      for (const int64_t layers : {1, 4}) {
        const BlockStack stack = StackOf(*kernel, RandomBlocks(shape, layers));
        std::vector<float> out(batch.rows.size());
        const std::vector<RowPart> parts = {batch.Whole()};
        TeamOfOne one;
        const Sequences sequences = batch.View(parts, /*has_bias=*/true);
        const int64_t before = allocations;
        stack.Run(sequences, first_only, &one, out.data());
        counts.push_back(allocations - before);
      }
      REQUIRE(counts[0] == counts[1]);
    }
  }
}

TEST_CASE("the weights' bytes are those of the precision") {
  const StackShape shape{64, 4, 256, 1e-12f};
  const RandomBlocks blocks(shape, 2);
  const int64_t weights = 2 * (4 * 64 * 64 + 2 * 64 * 256);
  for (const ProductKernel* kernel : KernelsOf(ThisCpu())) {
    const int64_t bytes = StackOf(*kernel, blocks).bytes();
    REQUIRE(bytes >= weights * kUnitBytes / kernel->inputs_per_unit);
    REQUIRE(bytes < weights * kUnitBytes / kernel->inputs_per_unit + 20000);
  }
}

}  // namespace
}  // namespace sightline::kernels
