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

kernels::NibbleTables SignsOf(const std::vector<float>& unit,
                              const kernels::RandomRotation& rotation) {
  std::vector<float> rotated(rotation.size());
  rotation.Rotate(unit.data(), rotated.data());
  std::vector<float> values(rotation.size() * 4);
  TablesOfSigns(rotated.data(), rotation.size(), values.data());
  return kernels::NibbleTables(values.data(), rotation.size() / 4);
}

}  // namespace

IvfQuery::IvfQuery(const float* asked, int64_t dimension, const kernels::RandomRotation& rotation)
    : numbers(asked),
      length(LengthOf(asked, dimension)),
      unit(UnitOf(asked, dimension, length)),
      codes(unit.data(), dimension),
      signs(SignsOf(unit, rotation)) {}

}  // namespace sightline
