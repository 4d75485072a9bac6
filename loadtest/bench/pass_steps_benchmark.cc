// The steps of a pass through one layer of base size, each by itself on one thread: operations a
// second, and their share of what the kernel's own instruction does on registers alone.  What of a
// pass is not at its peak is seen here.
//
// 96 rows, as many as go through a layer together, in sequences of 48.  Each kernel of this CPU is
// shown, the slower ones too: those are what another CPU has.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/kernels/kernel_choice.h"
#include "common/kernels/packed_matrix.h"
#include "loadtest/bench/bench_main.h"

namespace sightline {
namespace {

using kernels::kPanelColumns;
using kernels::ProductKernel;

constexpr int64_t kRows = 96, kLength = 48, kHidden = 768, kHeads = 12, kIntermediate = 3072;

std::vector<float> Numbers(int64_t count, float deviation) {
  std::mt19937 generator(7);
  std::normal_distribution<float> normal(0, deviation);
  std::vector<float> numbers(count);
  for (float& number : numbers) number = normal(generator);
  return numbers;
}

// A step that is not a product has no peak of its own.
void Run(benchmark::State& state, double operations, double peak,
         const std::function<void()>& step) {
  const Rounds rounds(&state, [&step] {
    step();
    return absl::OkStatus();
  });
  const double a_second = operations * rounds.per_second();
  state.counters["operations_per_second"] = a_second;
  if (peak > 0) state.counters["peak_share"] = a_second / peak;
}

// Rows that are encoded for `matrix`.
struct Encoded {
  Encoded(const ProductKernel& kernel, const kernels::PackedMatrix& matrix)
      : numbers(Numbers(kRows * matrix.inputs(), 1)),
        bytes(kRows * matrix.row_bytes()),
        codes(kRows) {
    for (int64_t r = 0; r < kRows; ++r) {
      kernel.encode(numbers.data() + r * matrix.inputs(), matrix.inputs(), matrix.row_bytes(),
                    bytes.data() + r * matrix.row_bytes(), &codes[r]);
    }
  }

  std::vector<float> numbers;
  kernels::AlignedBuffer bytes;
  std::vector<kernels::RowCode> codes;
};

void Multiply(benchmark::State& state, const ProductKernel& kernel, int64_t outputs, int64_t inputs,
              bool gelu) {
  const std::vector<float> weights = Numbers(outputs * inputs, 0.02f), bias = Numbers(outputs, 1);
  const kernels::PackedMatrix matrix(kernel, {{weights.data(), bias.data(), outputs, inputs}});
  const Encoded rows(kernel, matrix);
  std::vector<float> out(kRows * matrix.panel_count() * kPanelColumns);
  kernels::Product product;
  product.rows = {rows.bytes.data(), matrix.row_bytes(), rows.codes.data(), kRows};
  product.panels = matrix.PanelsFrom(0, matrix.panel_count());
  product.gelu = gelu;
  product.out = out.data();
  product.out_stride = matrix.panel_count() * kPanelColumns;
  Run(state, 2.0 * kRows * outputs * inputs, PeakOf(kernel), [&] { kernel.multiply(product); });
}

void Encode(benchmark::State& state, const ProductKernel& kernel, int64_t inputs) {
  const std::vector<float> numbers = Numbers(kRows * inputs, 1);
  const int64_t row_bytes = RowBytes(kernel, inputs);
  kernels::AlignedBuffer bytes(kRows * row_bytes);
  kernels::RowCode code;
  Run(state, static_cast<double>(kRows * inputs), 0, [&] {
    for (int64_t r = 0; r < kRows; ++r) {
      kernel.encode(numbers.data() + r * inputs, inputs, row_bytes, bytes.data() + r * row_bytes,
                    &code);
    }
  });
}

void Attend(benchmark::State& state, const ProductKernel& kernel) {
  constexpr int64_t kHead = kHidden / kHeads, kStride = 3 * kHidden;
  const std::vector<float> products = Numbers(kRows * kStride, 1);
  std::vector<float> scratch(kernels::AttentionScratch(kLength, kHead)), out(kRows * kHidden);
  kernels::Attention attention;
  attention.query_stride = attention.key_stride = kStride;
  attention.query_count = attention.length = kLength;
  attention.head_size = kHead;
  attention.scale = 0.125f;
  attention.out_stride = kHidden;
  attention.scratch = scratch.data();
  const double operations = 4.0 * kRows * kLength * kHidden;
  Run(state, operations, PeakOf(*KernelFor("float32", kernels::ThisCpu())), [&] {
    for (int64_t row = 0; row < kRows; row += kLength) {
      for (int64_t column = 0; column < kHidden; column += kHead) {
        attention.queries = products.data() + row * kStride + column;
        attention.keys = attention.queries + kHidden;
        attention.values = attention.keys + kHidden;
        attention.out = out.data() + row * kHidden + column;
        kernel.steps->attend(attention);
      }
    }
  });
}

void AddAndNorm(benchmark::State& state, const ProductKernel& kernel) {
  const std::vector<float> x = Numbers(kRows * kHidden, 1), gain = Numbers(kHidden, 1);
  std::vector<float> out(kRows * kHidden);
  Run(state, static_cast<double>(kRows * kHidden), 0, [&] {
    for (int64_t r = 0; r < kRows; ++r) {
      kernel.steps->add_and_norm(x.data() + r * kHidden, x.data() + r * kHidden, kHidden,
                                 gain.data(), gain.data(), 1e-12f, out.data() + r * kHidden);
    }
  });
}

void RegisterSteps(const ProductKernel& kernel) {
  const auto add = [&kernel](const char* step, std::function<void(benchmark::State&)> run) {
    const std::string name =
        absl::StrCat("Step/", kernel.precision, "/", kernel.instructions, "/", step);
    benchmark::RegisterBenchmark(name.c_str(), std::move(run))
        ->UseRealTime()
        ->Unit(benchmark::kMicrosecond);
  };
  const ProductKernel* const k = &kernel;
  add("encode hidden", [k](benchmark::State& state) { Encode(state, *k, kHidden); });
  add("query, key, value",
      [k](benchmark::State& state) { Multiply(state, *k, 3 * kHidden, kHidden, /*gelu=*/false); });
  add("attention", [k](benchmark::State& state) { Attend(state, *k); });
  add("attention output",
      [k](benchmark::State& state) { Multiply(state, *k, kHidden, kHidden, /*gelu=*/false); });
  add("residual and norm", [k](benchmark::State& state) { AddAndNorm(state, *k); });
  add("intermediate, GELU",
      [k](benchmark::State& state) { Multiply(state, *k, kIntermediate, kHidden, /*gelu=*/true); });
  add("encode intermediate", [k](benchmark::State& state) { Encode(state, *k, kIntermediate); });
  add("output", [k](benchmark::State& state) {
    Multiply(state, *k, kHidden, kIntermediate, /*gelu=*/false);
  });
}

const bool registered = [] {
  for (const ProductKernel* kernel : kernels::KernelsOf(kernels::ThisCpu())) RegisterSteps(*kernel);
  return true;
}();

}  // namespace
}  // namespace sightline
