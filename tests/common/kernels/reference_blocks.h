// Transformer blocks in doubles, which stacks are compared with, and batches for both.
#ifndef SIGHTLINE_TESTS_COMMON_KERNELS_REFERENCE_BLOCKS_H_
#define SIGHTLINE_TESTS_COMMON_KERNELS_REFERENCE_BLOCKS_H_

#include <cmath>
#include <cstdint>
#include <deque>
#include <random>
#include <utility>
#include <vector>

#include "common/kernels/block_stack.h"
#include "tests/common/kernels/random_numbers.h"

namespace sightline::kernels {

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

inline Matrix Apply(const LinearWeights& linear, const Matrix& rows) {
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

inline Matrix AddedAndNormed(const Matrix& x, const Matrix& residual, const NormWeights& norm,
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

inline Matrix Attended(const StackShape& shape, const BlockWeights& block, const Matrix& rows,
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
inline Matrix Referee(const RandomBlocks& stack, Matrix rows, const float* bias) {
  const double epsilon = stack.shape.layer_norm_epsilon;
  for (const BlockWeights& block : stack.blocks) {
    const Matrix seen = Attended(stack.shape, block, rows, bias);
    const Matrix attended =
        AddedAndNormed(Apply(block.attention_output, seen), rows, block.attention_norm, epsilon);
    Matrix middle = Apply(block.intermediate, attended);
    for (std::vector<double>& row : middle) {
      for (double& x : row) x *= 0.5 * std::erfc(-x / std::sqrt(2.0));
    }
    rows = AddedAndNormed(Apply(block.output, middle), attended, block.output_norm, epsilon);
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

inline Batch RandomBatch(std::vector<int64_t> lengths, int64_t hidden) {
  std::mt19937 generator(5);
  int64_t total = 0;
  for (const int64_t length : lengths) total += length;
  return {std::move(lengths), Normal(total * hidden, 1, &generator), Normal(total, 1, &generator),
          hidden};
}

// The last rows of all sequences.
inline Matrix ExpectedRows(const RandomBlocks& blocks, const Batch& batch, bool has_bias) {
  Matrix expected;
  int64_t begin = 0;
  for (const int64_t length : batch.lengths) {
    Matrix rows;
    for (int64_t r = begin; r < begin + length; ++r) {
      const float* const row = batch.rows.data() + r * batch.hidden;
      rows.emplace_back(row, row + batch.hidden);
    }
    const Matrix last =
        Referee(blocks, std::move(rows), has_bias ? batch.bias.data() + begin : nullptr);
    expected.insert(expected.end(), last.begin(), last.end());
    begin += length;
  }
  return expected;
}

}  // namespace sightline::kernels

#endif  // SIGHTLINE_TESTS_COMMON_KERNELS_REFERENCE_BLOCKS_H_
