// The stack in every precision of this CPU, against blocks in doubles.
#include "common/kernels/block_stack.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <new>
#include <string>
#include <vector>

#include "common/base/compute_pool.h"
#include "common/kernels/kernel_choice.h"
#include "common/kernels/pool_team.h"
#include "tests/common/kernels/random_numbers.h"
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

using Matrix = std::vector<std::vector<double>>;

struct RandomBlocks {
  RandomBlocks(const StackShape& of, int64_t count) : shape(of) {
    const int64_t h = shape.hidden_size, f = shape.intermediate_size;
    for (int64_t i = 0; i < count; ++i) {
      blocks.push_back({Linear(h, h), Linear(h, h), Linear(h, h), Linear(h, h), Norm(),
                        Linear(f, h), Linear(h, f), Norm()});
    }
  }

  const float* Numbers(int64_t count, float deviation) {
    numbers.push_back(Normal(count, deviation, &generator));
    return numbers.back().data();
  }
  LinearWeights Linear(int64_t outputs, int64_t inputs) {
    return {Numbers(outputs * inputs, 1.0f / std::sqrt(static_cast<float>(inputs))),
            Numbers(outputs, 0.1f), outputs, inputs};
  }
  NormWeights Norm() { return {Numbers(shape.hidden_size, 1), Numbers(shape.hidden_size, 0.1f)}; }

  std::mt19937 generator{11};
  const StackShape shape;
  std::deque<std::vector<float>> numbers;
  std::vector<BlockWeights> blocks;
};

Matrix Apply(const LinearWeights& linear, const Matrix& rows) {
  Matrix out;
  for (const std::vector<double>& row : rows) {
    out.emplace_back(linear.bias, linear.bias + linear.outputs);
    for (int64_t o = 0; o < linear.outputs; ++o) {
      for (int64_t k = 0; k < linear.inputs; ++k) {
        out.back()[o] += row[k] * linear.weights[o * linear.inputs + k];
      }
    }
  }
  return out;
}

Matrix AddAndNorm(const Matrix& x, const Matrix& residual, const NormWeights& norm,
                  double epsilon) {
  Matrix out = x;
  for (size_t r = 0; r < x.size(); ++r) {
    double mean = 0, squares = 0;
    const double n = x[r].size();
    for (size_t i = 0; i < x[r].size(); ++i) mean += (out[r][i] += residual[r][i]) / n;
    for (const double number : out[r]) squares += std::pow(number - mean, 2) / n;
    for (size_t i = 0; i < x[r].size(); ++i) {
      out[r][i] = (out[r][i] - mean) / std::sqrt(squares + epsilon) * norm.gain[i] + norm.shift[i];
    }
  }
  return out;
}

Matrix Attended(const StackShape& shape, const BlockWeights& block, const Matrix& rows,
                const float* bias) {
  const Matrix q = Apply(block.query, rows), k = Apply(block.key, rows),
               v = Apply(block.value, rows);
  const int64_t head = shape.hidden_size / shape.head_count;
  Matrix out(rows.size(), std::vector<double>(shape.hidden_size, 0));
  for (size_t r = 0; r < rows.size(); ++r) {
    for (int64_t first = 0; first < shape.hidden_size; first += head) {
      std::vector<double> weights(rows.size());
      double sum = 0;
      for (size_t j = 0; j < rows.size(); ++j) {
        double score = 0;
        for (int64_t d = first; d < first + head; ++d) score += q[r][d] * k[j][d];
        sum += weights[j] = std::exp(score / std::sqrt(double(head)) + (bias ? bias[j] : 0));
      }
      for (size_t j = 0; j < rows.size(); ++j) {
        for (int64_t d = first; d < first + head; ++d) out[r][d] += weights[j] / sum * v[j][d];
      }
    }
  }
  return out;
}

// One sequence's last rows.
Matrix Referee(const RandomBlocks& stack, Matrix rows, const float* bias) {
  const double epsilon = stack.shape.layer_norm_epsilon;
  for (const BlockWeights& block : stack.blocks) {
    const Matrix seen = Attended(stack.shape, block, rows, bias);
    const Matrix attended =
        AddAndNorm(Apply(block.attention_output, seen), rows, block.attention_norm, epsilon);
    Matrix middle = Apply(block.intermediate, attended);
    for (std::vector<double>& row : middle) {
      for (double& x : row) x *= 0.5 * std::erfc(-x / std::sqrt(2.0));
    }
    rows = AddAndNorm(Apply(block.output, middle), attended, block.output_norm, epsilon);
  }
  return rows;
}

struct Batch {
  std::vector<int64_t> lengths;
  std::vector<float> rows, bias;
  int64_t hidden;

  RowPart Whole() const {
    return {rows.data(), Dtype::kFloat32, nullptr, static_cast<int64_t>(rows.size()) / hidden};
  }
  Sequences View(const std::vector<RowPart>& parts, bool has_bias) const {
    return {parts.data(), static_cast<int64_t>(parts.size()), has_bias ? bias.data() : nullptr,
            lengths.data(), static_cast<int64_t>(lengths.size())};
  }
};

Batch RandomBatch(std::vector<int64_t> lengths, int64_t hidden) {
  std::mt19937 generator(5);
  int64_t total = 0;
  for (const int64_t length : lengths) total += length;
  return {std::move(lengths), Normal(total * hidden, 1, &generator), Normal(total, 1, &generator),
          hidden};
}

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
      Matrix expected;
      int64_t begin = 0;
      for (const int64_t length : lengths) {
        Matrix rows;
        for (int64_t r = begin; r < begin + length; ++r) {
          const float* const row = batch.rows.data() + r * shape.hidden_size;
          rows.emplace_back(row, row + shape.hidden_size);
        }
        const Matrix last =
            Referee(blocks, std::move(rows), has_bias ? batch.bias.data() + begin : nullptr);
        expected.insert(expected.end(), last.begin(), last.end());
        begin += length;
      }
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
