#include "common/index/ivf_encoder.h"

#include "common/index/nibble_codes.h"
#include "common/kernels/int8_rows.h"
#include "common/kernels/nibble_scan.h"

namespace sightline {
namespace {

CodeSpace SpaceOf(const IvfShape& shape, const IvfTrained& trained) {
  if (shape.axes == 0) return CodeSpace(shape.dimension, shape.seed);
  return CodeSpace(trained.axes.codes.data(), trained.axes.scales.data(), shape.axes,
                   shape.dimension, shape.seed);
}

}  // namespace

Int8Matrix EncodeInt8(const std::vector<float>& rows, const IvfShape& shape) {
  const int64_t count = static_cast<int64_t>(rows.size()) / shape.dimension;
  Int8Matrix matrix;
  matrix.codes.resize(count * shape.centroid_bytes());
  matrix.scales.resize(count);
  for (int64_t i = 0; i < count; ++i) {
    matrix.scales[i] = kernels::EncodeInt8Row(rows.data() + i * shape.dimension, shape.dimension,
                                              matrix.codes.data() + i * shape.centroid_bytes())
                           .scale;
  }
  return matrix;
}

std::vector<float> DecodeInt8(const Int8Matrix& matrix, const IvfShape& shape) {
  std::vector<float> rows;
  rows.reserve(matrix.scales.size() * shape.dimension);
  for (size_t i = 0; i < matrix.scales.size(); ++i) {
    const int8_t* const codes = matrix.codes.data() + i * shape.centroid_bytes();
    for (int j = 0; j < shape.dimension; ++j) {
      rows.push_back(matrix.scales[i] * static_cast<float>(codes[j]));
    }
  }
  return rows;
}

RowEncoder::RowEncoder(const IvfShape& shape, const IvfTrained& trained)
    : shape_(shape),
      trained_(trained),
      centroids_(DecodeInt8(trained.centroids, shape)),
      space_(SpaceOf(shape, trained)) {
  if (shape.code != IvfCode::kRabitq) return;
  placed_centroids_.resize(shape.lists * space_.size());
  for (int64_t list = 0; list < shape.lists; ++list) {
    space_.Place(centroids_.data() + list * shape.dimension, shape.dimension,
                 placed_centroids_.data() + list * space_.size());
  }
}

void RowEncoder::Encode(const float* row, bool usable, int64_t list, int64_t place, uint8_t* codes,
                        float* scale) const {
  if (shape_.code == IvfCode::kInt8) {
    auto* const to = reinterpret_cast<int8_t*>(codes) + place * shape_.centroid_bytes();
    const float own = kernels::EncodeInt8Row(row, shape_.dimension, to).scale;
    *scale = usable ? own : -1.0f;
    return;
  }
  constexpr int64_t kBlock = kernels::kNibbleBlockRows;
  std::vector<uint8_t> groups(shape_.group_count());
  NibbleScalars scalars;
  const float* const centroid = centroids_.data() + list * shape_.dimension;
  if (shape_.code == IvfCode::kRabitq) {
    std::vector<float> placed(space_.size());
    space_.Place(row, shape_.dimension, placed.data());
    scalars = EncodeBits(ProductsOf(row, centroid, shape_.dimension), placed.data(),
                         placed_centroids_.data() + list * space_.size(), space_.size(),
                         shape_.bits, groups.data());
  } else {
    scalars = EncodeParts(row, centroid, shape_, trained_.codebooks.data(), groups.data());
  }
  if (!usable) scalars = kLastOfAll;
  uint8_t* const block = codes + place / kBlock * shape_.block_bytes();
  kernels::StoreNibbles(groups.data(), shape_.group_count(), place % kBlock, block);
  kernels::StoreNibbleScalars(scalars.slope, scalars.offset, shape_.group_count(), place % kBlock,
                              block);
}

}  // namespace sightline
