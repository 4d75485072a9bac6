// Every kernel that this CPU has, against sums of doubles.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "common/kernels/kernel_choice.h"
#include "common/kernels/packed_matrix.h"
#include "tests/common/kernels/random_numbers.h"
#include "tests/support/catch.h"

namespace sightline::kernels {
namespace {

struct Linear {
  int64_t outputs, inputs;
  std::vector<float> weights, bias;

  LinearWeights View() const { return {weights.data(), bias.data(), outputs, inputs}; }
};

Linear RandomLinear(int64_t outputs, int64_t inputs, std::mt19937* generator) {
  return {outputs, inputs, Normal(outputs * inputs, 0.1f, generator),
          Normal(outputs, 1, generator)};
}

// Encodes `rows` and multiplies them; row after row of `outputs`.
std::vector<float> Multiply(const ProductKernel& kernel, const Linear& linear,
                            const std::vector<float>& rows, bool gelu = false) {
  const PackedMatrix matrix(kernel, {linear.View()});
  const int64_t count = rows.size() / linear.inputs, stride = matrix.panel_count() * kPanelColumns;
  AlignedBuffer bytes(count * matrix.row_bytes());
  std::vector<RowCode> codes(count);
  for (int64_t r = 0; r < count; ++r) {
    kernel.encode(rows.data() + r * linear.inputs, linear.inputs, matrix.row_bytes(),
                  bytes.data() + r * matrix.row_bytes(), &codes[r]);
  }
  std::vector<float> padded(count * stride, -1);
  kernel.multiply({{bytes.data(), matrix.row_bytes(), codes.data(), count},
                   matrix.PanelsFrom(0, matrix.panel_count()),
                   gelu,
                   padded.data(),
                   stride});
  std::vector<float> out;
  for (int64_t r = 0; r < count; ++r) {
    out.insert(out.end(), padded.begin() + r * stride,
               padded.begin() + r * stride + linear.outputs);
  }
  return out;
}

std::vector<double> Referee(const Linear& linear, const std::vector<float>& rows) {
  std::vector<double> out;
  for (size_t r = 0; r < rows.size() / linear.inputs; ++r) {
    for (int64_t o = 0; o < linear.outputs; ++o) {
      double sum = linear.bias[o];
      for (int64_t k = 0; k < linear.inputs; ++k) {
        sum += double{rows[r * linear.inputs + k]} * linear.weights[o * linear.inputs + k];
      }
      out.push_back(sum);
    }
  }
  return out;
}

// The part of a step by which an encoded number may be off: of rows, of weights.
struct Steps {
  double row, weight;
};

Steps StepsOf(const ProductKernel& kernel) {
  const std::string precision = kernel.precision;
  if (precision == "float32") return {0, 0};
  if (precision == "bfloat16") return {1.0 / 256, 1.0 / 256};
  return {0.5 / 127, 0.5 / (kernel.zero_point - 1)};
}

// The most by which a sum may be off: each factor of each product by its step, of the largest
// number of its row where steps are shared.
double Bound(const Steps& steps, const Linear& linear, const float* row, int64_t output) {
  double most_input = 0, most_weight = 0, sum = 0;
  const float* const weights = linear.weights.data() + output * linear.inputs;
  for (int64_t k = 0; k < linear.inputs; ++k) {
    most_input = std::max<double>(most_input, std::fabs(row[k]));
    most_weight = std::max<double>(most_weight, std::fabs(weights[k]));
  }
  for (int64_t k = 0; k < linear.inputs; ++k) {
    const double input = std::fabs(row[k]), weight = std::fabs(weights[k]);
    const double input_off = steps.row * most_input, weight_off = steps.weight * most_weight;
    sum += input_off * weight + weight_off * input + input_off * weight_off + 1e-6 * input * weight;
  }
  return sum + 2e-6;
}

TEST_CASE("each kernel multiplies shapes of all kinds within its precision's steps") {
  std::mt19937 generator(1);
  for (const ProductKernel* kernel : KernelsOf(ThisCpu())) {
    for (const int64_t outputs : {1, 17, 64, 130}) {
      for (const int64_t inputs : {1, 3, 63, 64, 200}) {
        for (const int64_t count : {1, 5, 6, 7, 17, 33}) {
          INFO(kernel->instructions << " " << kernel->precision << ": " << outputs << " x "
                                    << inputs << " of " << count << " rows");
          const Linear linear = RandomLinear(outputs, inputs, &generator);
          const std::vector<float> rows = Normal(count * inputs, 1, &generator);
          const std::vector<float> out = Multiply(*kernel, linear, rows);
          const std::vector<double> expected = Referee(linear, rows);
          double worst = 0;
          for (size_t i = 0; i < out.size(); ++i) {
            worst = std::max(worst, std::fabs(out[i] - expected[i]) /
                                        Bound(StepsOf(*kernel), linear,
                                              rows.data() + i / outputs * inputs, i % outputs));
          }
          REQUIRE(worst <= 1);
        }
      }
    }
  }
}

// All at the ends of their ranges, where sums of 16 bits would not hold two products.
TEST_CASE("no sum of extreme numbers is cut off") {
  for (const ProductKernel* kernel : KernelsOf(ThisCpu())) {
    for (const float sign : {1.0f, -1.0f}) {
      Linear linear{70, 512, std::vector<float>(70 * 512, 2.0f), std::vector<float>(70, 0)};
      std::vector<float> rows(9 * 512, sign * 3);
      const double expected = sign * 3 * 2 * 512;
      for (const float out : Multiply(*kernel, linear, rows)) {
        INFO(kernel->instructions << " " << kernel->precision);
        REQUIRE(std::fabs(out / expected - 1) < 1e-6);
      }
      // Signs in turn, so that every pair of products is as large as it gets and sums are small.
      for (size_t i = 0; i < linear.weights.size(); i += 2) linear.weights[i] = -2;
      for (const float out : Multiply(*kernel, linear, rows)) REQUIRE(std::fabs(out) < 1e-3);
    }
  }
}

TEST_CASE("a few inputs that are far larger than the others do not blur these") {
  std::mt19937 generator(2);
  const Linear linear = RandomLinear(96, 768, &generator);
  std::vector<float> rows = Normal(8 * 768, 1, &generator);
  const std::vector<double> plain = Referee(linear, rows);
  for (int64_t r = 0; r < 8; ++r) {
    for (int i = 0; i < 6; ++i) rows[r * 768 + 100 * i + r] *= 40;
  }
  const std::vector<double> expected = Referee(linear, rows);
  for (const ProductKernel* kernel : KernelsOf(ThisCpu())) {
    if (std::string(kernel->precision) != "int8") continue;
    const std::vector<float> out = Multiply(*kernel, linear, rows);
    double squares = 0, all = 0;
    for (size_t i = 0; i < out.size(); ++i) {
      squares += std::pow(out[i] - expected[i], 2);
      all += std::pow(plain[i], 2);
    }
    INFO(kernel->instructions << ": " << std::sqrt(squares / all));
    // With one scale for all, 40 times coarser than without outliers, it would be some 0.3.
    REQUIRE(std::sqrt(squares / all) < 0.06);
  }
}

TEST_CASE("zeros, numbers too small to divide by, and single numbers are encoded") {
  std::mt19937 generator(3);
  const Linear linear = RandomLinear(5, 100, &generator);
  for (const ProductKernel* kernel : KernelsOf(ThisCpu())) {
    INFO(kernel->instructions << " " << kernel->precision);
    std::vector<float> rows(100, 0.0f);
    REQUIRE(Multiply(*kernel, linear, rows) == linear.bias);
    rows[7] = 1e-39f;
    REQUIRE(Multiply(*kernel, linear, rows) == linear.bias);
    // So many that their mean is 0.
    for (int i = 0; i < 20; ++i) rows[i] = 1e-45f;
    REQUIRE(Multiply(*kernel, linear, rows) == linear.bias);
    std::fill(rows.begin(), rows.end(), 0.0f);
    rows[7] = 3;
    const std::vector<float> one = Multiply(*kernel, linear, rows);
    for (int64_t o = 0; o < 5; ++o) {
      REQUIRE(std::fabs(one[o] - Referee(linear, rows)[o]) < 0.01);
    }
  }
}

TEST_CASE("what is not finite stays so") {
  std::mt19937 generator(4);
  const Linear linear = RandomLinear(5, 100, &generator);
  for (const ProductKernel* kernel : KernelsOf(ThisCpu())) {
    for (const float bad :
         {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
      INFO(kernel->instructions << " " << kernel->precision << " " << bad);
      std::vector<float> rows(100, 1.0f);
      rows[31] = bad;
      for (const float out : Multiply(*kernel, linear, rows)) REQUIRE_FALSE(std::isfinite(out));
    }
  }
}

TEST_CASE("a row's result is the same to the bit whatever rows it is multiplied with") {
  std::mt19937 generator(5);
  const Linear linear = RandomLinear(130, 192, &generator);
  const std::vector<float> rows = Normal(40 * 192, 1, &generator);
  for (const ProductKernel* kernel : KernelsOf(ThisCpu())) {
    INFO(kernel->instructions << " " << kernel->precision);
    const std::vector<float> all = Multiply(*kernel, linear, rows);
    for (int64_t r = 0; r < 40; ++r) {
      const std::vector<float> row(rows.begin() + r * 192, rows.begin() + (r + 1) * 192);
      const std::vector<float> alone = Multiply(*kernel, linear, row);
      REQUIRE(std::equal(alone.begin(), alone.end(), all.begin() + r * 130));
    }
  }
}

TEST_CASE("GELU is the one with the error function") {
  for (const ProductKernel* kernel : KernelsOf(ThisCpu())) {
    if (std::string(kernel->precision) != "float32") continue;
    const Linear linear{1, 1, {1.0f}, {0.0f}};
    for (double x = -12; x < 12; x += 0.01) {
      const std::vector<float> row = {static_cast<float>(x)};
      const double y = row[0] * 0.5 * std::erfc(-row[0] / std::sqrt(2.0));
      INFO(kernel->instructions << " at " << x);
      REQUIRE(std::fabs(Multiply(*kernel, linear, row, /*gelu=*/true)[0] - y) <
              5e-7 * std::max(1.0, std::fabs(x)));
    }
  }
}

TEST_CASE("layers that share their inputs begin with a panel each") {
  std::mt19937 generator(6);
  const Linear first = RandomLinear(10, 20, &generator), second = RandomLinear(70, 20, &generator);
  const std::vector<float> row = Normal(20, 1, &generator);
  for (const ProductKernel* kernel : KernelsOf(ThisCpu())) {
    const PackedMatrix both(*kernel, {first.View(), second.View()});
    REQUIRE(both.panel_count() == 3);
    AlignedBuffer bytes(both.row_bytes());
    RowCode code;
    kernel->encode(row.data(), 20, both.row_bytes(), bytes.data(), &code);
    std::vector<float> out(2 * kPanelColumns);
    kernel->multiply({{bytes.data(), both.row_bytes(), &code, 1},
                      both.PanelsFrom(1, 2),
                      /*gelu=*/false,
                      out.data(),
                      2 * kPanelColumns});
    const std::vector<float> alone = Multiply(*kernel, second, row);
    REQUIRE(std::equal(alone.begin(), alone.end(), out.begin()));
  }
}

}  // namespace
}  // namespace sightline::kernels
