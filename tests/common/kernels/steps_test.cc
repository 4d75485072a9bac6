// Attention and LayerNorm of every kernel that this CPU has, against sums of doubles.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "common/kernels/kernel_choice.h"
#include "tests/common/kernels/random_numbers.h"
#include "tests/support/catch.h"

namespace sightline::kernels {
namespace {

// Each kind of registers once.
std::vector<const StepKernels*> Steps() {
  std::vector<const StepKernels*> steps;
  for (const ProductKernel* kernel : KernelsOf(ThisCpu())) {
    if (std::find(steps.begin(), steps.end(), kernel->steps) == steps.end()) {
      steps.push_back(kernel->steps);
    }
  }
  return steps;
}

TEST_CASE("the residual is added and the sum normed, of any number of numbers") {
  std::mt19937 generator(1);
  for (const StepKernels* steps : Steps()) {
    for (const int64_t n : {1, 2, 7, 8, 9, 16, 31, 768}) {
      const std::vector<float> x = Normal(n, 3, &generator), residual = Normal(n, 1, &generator);
      const std::vector<float> gain = Normal(n, 1, &generator), shift = Normal(n, 1, &generator);
      // One more than there are, which must stay.
      std::vector<float> out(n + 1, 77);
      steps->add_and_norm(x.data(), residual.data(), n, gain.data(), shift.data(), 1e-5f,
                          out.data());
      double mean = 0, squares = 0;
      for (int64_t i = 0; i < n; ++i) mean += (double{x[i]} + residual[i]) / n;
      for (int64_t i = 0; i < n; ++i) squares += std::pow(double{x[i]} + residual[i] - mean, 2) / n;
      for (int64_t i = 0; i < n; ++i) {
        const double normed = (double{x[i]} + residual[i] - mean) / std::sqrt(squares + 1e-5);
        INFO(n << " at " << i);
        REQUIRE(std::fabs(out[i] - (normed * gain[i] + shift[i])) < 2e-5);
      }
      REQUIRE(out[n] == 77);
    }
  }
}

TEST_CASE("each query sees all keys by the softmax of its scores") {
  std::mt19937 generator(2);
  for (const StepKernels* steps : Steps()) {
    for (const int64_t head : {4, 8, 24, 64}) {
      for (const int64_t length : {1, 3, 16, 48, 65}) {
        for (const int64_t queries : {int64_t{1}, length}) {
          for (const bool has_bias : {false, true}) {
            const int64_t stride = head + 5;
            const std::vector<float> q = Normal(queries * stride, 2, &generator);
            const std::vector<float> k = Normal(length * stride, 2, &generator);
            const std::vector<float> v = Normal(length * stride, 1, &generator);
            std::vector<float> bias = Normal(length, 1, &generator);
            if (length > 1) bias[0] = -10000;
            std::vector<float> out(queries * stride, 77);
            std::vector<float> scratch(AttentionScratch(length, head));
            Attention attention{
                q.data(),   k.data(), v.data(),      stride, stride,
                queries,    length,   head,          0.3f,   has_bias ? bias.data() : nullptr,
                out.data(), stride,   scratch.data()};
            steps->attend(attention);
            for (int64_t r = 0; r < queries; ++r) {
              std::vector<double> weights(length);
              double most = -1e30, sum = 0;
              for (int64_t j = 0; j < length; ++j) {
                double score = 0;
                for (int64_t d = 0; d < head; ++d) {
                  score += double{q[r * stride + d]} * k[j * stride + d];
                }
                weights[j] = score * double{0.3f} + (has_bias ? bias[j] : 0);
                most = std::max(most, weights[j]);
              }
              for (double& weight : weights) sum += weight = std::exp(weight - most);
              for (int64_t d = 0; d < head; ++d) {
                double seen = 0;
                for (int64_t j = 0; j < length; ++j) seen += weights[j] / sum * v[j * stride + d];
                INFO(head << " of " << length << ", row " << r << ", " << d);
                REQUIRE(std::fabs(out[r * stride + d] - seen) < 2e-5);
              }
              // What lies between rows is somebody else's.
              REQUIRE(out[r * stride + head] == 77);
            }
          }
        }
      }
    }
  }
}

TEST_CASE("what overflows or is no number is not taken for an answer") {
  for (const StepKernels* steps : Steps()) {
    for (const float bad :
         {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(),
          std::numeric_limits<float>::quiet_NaN(), 1e30f}) {
      constexpr int64_t kLength = 20, kHead = 16;
      std::vector<float> keys(kLength * kHead, 1), queries(kLength * kHead, 1e20f);
      keys[5 * kHead + 3] = bad;
      std::vector<float> out(kLength * kHead), scratch(AttentionScratch(kLength, kHead));
      steps->attend({queries.data(), keys.data(), keys.data(), kHead, kHead, kLength, kLength,
                     kHead, 1, nullptr, out.data(), kHead, scratch.data()});
      INFO(bad);
      for (int64_t r = 0; r < kLength; ++r) REQUIRE_FALSE(std::isfinite(out[r * kHead + 3]));
    }
  }
}

}  // namespace
}  // namespace sightline::kernels
