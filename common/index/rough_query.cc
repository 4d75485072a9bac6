#include "common/index/rough_query.h"

#include <cmath>
#include <limits>

namespace sightline {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
// What the bound's own rounding to float32 may take off, in four operations, is less.
constexpr double kMargin = 1 + 1e-6;

float Above(double value) {
  return std::nextafter(static_cast<float>(value * kMargin), kInfinity);
}

}  // namespace

// The sum of Int8ProductError, from the codes to the true product, and of InnerProductError, from
// there to the score, with |x| <= length + error, sorted by what they have of the row.
RoughQuery::RoughQuery(const float* numbers, int64_t dimension) : query(numbers, dimension) {
  if (!(query.length < kMostLength)) {
    per_error = per_length = constant = kInfinity;
    return;
  }
  const double roundings = static_cast<double>(dimension) + 2;
  const double gamma = roundings * 0x1p-24 / (1 - roundings * 0x1p-24);
  per_error = Above(query.length * (1 + 2 * gamma));
  per_length =
      Above(query.error + 4 * 0x1p-24 * (query.length + query.error) + 2 * gamma * query.length);
  constant = Above(0x1p31 * 0x1p-126 + 4 * roundings * 0x1p-126);
}

}  // namespace sightline
