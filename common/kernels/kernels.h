// The inner loops of a transformer, for the CPU at hand: products of rows with packed weights in
// three precisions, and the steps between them in float32.
//
// Weights W (N outputs x K inputs) are packed in panels of 64 outputs.  A unit is four bytes of
// inputs: 4 of int8, 2 of bfloat16, 1 of float32.  A panel holds unit after unit, and of each unit
// its 64 outputs side by side: what a register of any width, VNNI and a tile of AMX read as it
// lies.  N is padded to whole panels and K to whole 64 bytes, with weights of zero.
//
// In int8 a row x of inputs is  scale * q,  q in [-127, 127], with a scale of its own (Dettmers et
// al., 2022, "vector-wise"), and an output's weights are  column scale * (u - zero point), u in
// [0, 255] or, where sums of two products have to fit 16 bits (AVX2), in [0, 127].  The few inputs
// of a row that are far larger than the others do not set its scale: what they have above it is
// multiplied in float32.  All sums of integers are exact, so a row's result depends neither on its
// neighbours in the batch nor on how the work was cut.
#ifndef SIGHTLINE_COMMON_KERNELS_KERNELS_H_
#define SIGHTLINE_COMMON_KERNELS_KERNELS_H_

#include <cstddef>
#include <cstdint>

namespace sightline::kernels {

inline constexpr int64_t kPanelColumns = 64;
inline constexpr int64_t kUnitBytes = 4;
// A row's bytes are a multiple of this.
inline constexpr int64_t kRowAlignment = 64;
inline constexpr int kMostOutliers = 16;

struct Outlier {
  int32_t column = 0;
  float rest = 0;  // of the input, beyond what its integer holds
};

// How an encoded row of int8 is read; of another precision without use.
struct RowCode {
  float scale = 1;
  int32_t sum = 0;  // of the row's integers
  int32_t outlier_count = 0;
  Outlier outliers[kMostOutliers];
};

// Rows as `encode` leaves them, side by side.
struct EncodedRows {
  const std::byte* bytes = nullptr;
  int64_t row_bytes = 0;
  const RowCode* codes = nullptr;
  int64_t count = 0;
};

// Panels one after another, `units` each.
struct Panels {
  const std::byte* bytes = nullptr;
  int64_t count = 0;
  int64_t units = 0;
  int32_t zero_point = 0;
  const float* column_scales = nullptr;  // of all columns; int8 alone
  const float* bias = nullptr;           // of all columns
};

// out[r][c] = f(sum over k of rows[r][k] * W[c][k] + bias[c]), of all columns of the panels.
struct Product {
  EncodedRows rows;
  Panels panels;
  bool gelu = false;  // f; else f(x) = x
  float* out = nullptr;
  int64_t out_stride = 0;
};

// One head of one sequence: out[r] = sum over j of softmax_j(scale q[r] . k[j] + key_bias[j]) v[j].
struct Attention {
  const float* queries = nullptr;
  const float* keys = nullptr;
  const float* values = nullptr;
  int64_t query_stride = 0;
  int64_t key_stride = 0;  // of values too
  int64_t query_count = 0;
  int64_t length = 0;
  int64_t head_size = 0;
  float scale = 1;
  const float* key_bias = nullptr;  // null for none
  float* out = nullptr;
  int64_t out_stride = 0;
  float* scratch = nullptr;  // AttentionScratch() floats
};

// Floats that Attention::scratch has room for.
int64_t AttentionScratch(int64_t length, int64_t head_size);

// The steps between products, in float32.  Stateless.
struct StepKernels {
  void (*attend)(const Attention& attention);
  // out = LayerNorm(x + residual) of n numbers; `out` may be `x`.
  void (*add_and_norm)(const float* x, const float* residual, int64_t n, const float* gain,
                       const float* shift, float epsilon, float* out);
};

// A precision, as a CPU computes it.  Stateless.
struct ProductKernel {
  const char* precision;     // as the configuration names it
  const char* instructions;  // as /proc/cpuinfo names them
  // Inputs of a unit.
  int inputs_per_unit;
  // Of int8: weights are integers in [1 - zero_point, zero_point - 1].
  int32_t zero_point;
  // Rows of a product from which on its speed does not grow.
  int tile_rows;
  // n numbers to row_bytes bytes, zeros behind them.
  void (*encode)(const float* x, int64_t n, int64_t row_bytes, std::byte* row, RowCode* code);
  void (*multiply)(const Product& product);
  const StepKernels* steps;
  // The instruction that multiplies, `rounds` times a good number, on registers alone: how many
  // operations that were, a product and its addition being two.  For benchmarks: their peak.
  int64_t (*exercise)(int64_t rounds);
};

}  // namespace sightline::kernels

#endif  // SIGHTLINE_COMMON_KERNELS_KERNELS_H_
