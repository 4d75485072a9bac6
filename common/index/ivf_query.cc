#include "common/index/ivf_query.h"

#include <cmath>

#include "common/index/nibble_codes.h"

namespace sightline {
namespace {

// Squares of float32 neither overflow nor vanish in double.
double LengthOf(const float* numbers, int64_t dimension) {
  double squares = 0;
  for (int64_t i = 0; i < dimension; ++i) squares += double{numbers[i]} * numbers[i];
  return std::sqrt(squares);
}

std::vector<float> UnitOf(const float* numbers, int64_t dimension, double length) {
  const double scale = length > 0 ? 1 / length : 0;
  std::vector<float> unit(dimension);
  for (int64_t i = 0; i < dimension; ++i) unit[i] = static_cast<float>(numbers[i] * scale);
  return unit;
}

kernels::NibbleTables BitsOf(const std::vector<float>& unit, const kernels::Int16Query& codes,
                             const IvfShape& shape, const CodeSpace& space) {
  std::vector<float> placed(space.size());
  space.Place(unit.data(), codes, placed.data());
  std::vector<float> values(shape.space_groups() * 16);
  TablesOfBits(placed.data(), space.size(), shape.bits, values.data());
  return kernels::NibbleTables(values.data(), shape.space_groups());
}

}  // namespace

IvfQuery::IvfQuery(const float* asked, const IvfShape& shape, const CodeSpace& space)
    : numbers(asked),
      length(LengthOf(asked, shape.dimension)),
      unit(UnitOf(asked, shape.dimension, length)),
      codes(unit.data(), shape.dimension),
      bits(BitsOf(unit, codes, shape, space)) {}

}  // namespace sightline
