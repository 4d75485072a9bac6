// For CPUs with AMX: 16 rows by 16 columns in a tile, 64 bytes of inputs a step.
#include "common/kernels/attention.h"
#include "common/kernels/instruction_sets.h"
#include "common/kernels/product.h"
#include "common/kernels/row_kernels.h"

namespace sightline::kernels {
namespace {

constexpr int64_t kTileHeight = 16;
constexpr int64_t kTileUnits = 16;
// Columns of a tile, in bytes of weights and of sums alike.
constexpr int64_t kTileBytes = 64;
constexpr int64_t kTileColumns = 16;

struct alignas(64) TileConfig {
  uint8_t palette = 1;
  uint8_t start_row = 0;
  uint8_t reserved[14] = {};
  uint16_t bytes_a_row[16] = {};
  uint8_t rows[16] = {};
};

// Tiles 0 and 1 hold sums of `upper` rows, 2 and 3 of `lower`; 4 and 5 those rows; 6 and 7
// weights of 16 columns each.
SIGHTLINE_INLINE void Configure(int64_t upper, int64_t lower) {
  TileConfig config;
  for (int tile = 0; tile < 8; ++tile) {
    config.bytes_a_row[tile] = kTileBytes;
    config.rows[tile] = kTileUnits;
  }
  config.rows[0] = config.rows[1] = config.rows[4] = static_cast<uint8_t>(upper);
  config.rows[2] = config.rows[3] = config.rows[5] = static_cast<uint8_t>(lower);
  // Not by gcc 12's intrinsic, which tells the compiler of the first 8 bytes alone.
  asm volatile("ldtilecfg %0" : : "m"(config));
}

// Tiles are named by literals: the compiler's intrinsics are macros.
struct AmxInt8 {
  static SIGHTLINE_INLINE void StepUpper() {
    _tile_dpbsud(0, 4, 6);
    _tile_dpbsud(1, 4, 7);
  }
  static SIGHTLINE_INLINE void StepLower() {
    _tile_dpbsud(2, 5, 6);
    _tile_dpbsud(3, 5, 7);
  }
  static SIGHTLINE_INLINE Vector Sum(const Product& product, int64_t row, int64_t column,
                                     const int32_t* sums, const std::byte* weights) {
    const RowCode& code = product.rows.codes[row];
    const Integers sum = LoadIntegers(reinterpret_cast<const std::byte*>(sums));
    const Vector exact = DifferenceOf(sum, IntegersOf(product.panels.zero_point * code.sum));
    return FromIntegers(product, code, column, exact, weights);
  }
};

struct AmxBfloat16 {
  static SIGHTLINE_INLINE void StepUpper() {
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
  }
  static SIGHTLINE_INLINE void StepLower() {
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  }
  static SIGHTLINE_INLINE Vector Sum(const Product&, int64_t, int64_t, const int32_t* sums,
                                     const std::byte*) {
    return {_mm512_castsi512_ps(_mm512_loadu_si512(sums))};
  }
};

// 32 columns, from `column` on, of at most 32 rows; the tiles are configured for as many.
template <class Amx>
SIGHTLINE_INLINE void MultiplyTiles(const Product& product, int64_t first_row, int64_t row_count,
                                    int64_t column, const std::byte* weights) {
  const int64_t row_bytes = product.rows.row_bytes;
  const std::byte* const upper = product.rows.bytes + first_row * row_bytes;
  const std::byte* const lower = upper + kTileHeight * row_bytes;
  const bool has_lower = row_count > kTileHeight;
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  for (int64_t unit = 0; unit < product.panels.units; unit += kTileUnits) {
    const std::byte* const step = weights + unit * kUnitOfPanel;
    _tile_loadd(6, step, kUnitOfPanel);
    _tile_loadd(7, step + kTileBytes, kUnitOfPanel);
    _tile_loadd(4, upper + unit * kUnitBytes, row_bytes);
    Amx::StepUpper();
    if (!has_lower) continue;
    _tile_loadd(5, lower + unit * kUnitBytes, row_bytes);
    Amx::StepLower();
  }
  alignas(64) int32_t sums[2 * kTileHeight][2 * kTileColumns];
  constexpr int64_t kStride = sizeof(sums[0]);
  _tile_stored(0, sums[0], kStride);
  _tile_stored(1, sums[0] + kTileColumns, kStride);
  if (has_lower) {
    _tile_stored(2, sums[kTileHeight], kStride);
    _tile_stored(3, sums[kTileHeight] + kTileColumns, kStride);
  }
  for (int64_t r = 0; r < row_count; ++r) {
    for (int64_t c = 0; c < 2; ++c) {
      const int64_t at = column + c * kTileColumns;
      Finish(product, first_row + r, at,
             Amx::Sum(product, first_row + r, at, sums[r] + c * kTileColumns,
                      weights + c * kTileBytes));
    }
  }
}

template <class Amx>
void MultiplyWithAmx(const Product& product) {
  const int64_t panel_bytes = product.panels.units * kUnitOfPanel;
  constexpr int64_t kPassRows = 2 * kTileHeight, kPassColumns = 2 * kTileColumns;
  const int64_t rest = product.rows.count % kPassRows;
  for (int64_t column = 0; column < product.panels.count * kPanelColumns; column += kPassColumns) {
    const std::byte* const weights = product.panels.bytes + column / kPanelColumns * panel_bytes +
                                     column % kPanelColumns * kUnitBytes;
    Configure(kTileHeight, kTileHeight);
    for (int64_t row = 0; row + kPassRows <= product.rows.count; row += kPassRows) {
      MultiplyTiles<Amx>(product, row, kPassRows, column, weights);
    }
    if (rest == 0) continue;
    const int64_t upper = rest < kTileHeight ? rest : kTileHeight;
    Configure(upper, rest > kTileHeight ? rest - kTileHeight : kTileHeight);
    MultiplyTiles<Amx>(product, product.rows.count - rest, rest, column, weights);
  }
  _tile_release();
}

template <class Amx, int kInputsPerUnit>
int64_t ExerciseAmx(int64_t rounds) {
  Configure(kTileHeight, kTileHeight);
  for (int64_t i = 0; i < rounds; ++i) {
    Amx::StepUpper();
    Amx::StepLower();
  }
  _tile_release();
  return rounds * 4 * kTileHeight * kTileColumns * kTileUnits * kInputsPerUnit * 2;
}

}  // namespace

const ProductKernel kAmxInt8 = {
    "int8",
    "amx_int8",
    4,
    128,
    2 * kTileHeight,
    &EncodeInt8,
    &MultiplyWithAmx<AmxInt8>,
    &kSteps,
    &ExerciseAmx<AmxInt8, 4>,
};

const ProductKernel kAmxBfloat16 = {
    "bfloat16",
    "amx_bf16",
    2,
    0,
    2 * kTileHeight,
    &EncodeBfloat16,
    &MultiplyWithAmx<AmxBfloat16>,
    &kSteps,
    &ExerciseAmx<AmxBfloat16, 2>,
};

}  // namespace sightline::kernels
