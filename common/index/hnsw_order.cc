#include "common/index/hnsw_order.h"

#include <algorithm>

namespace sightline {
namespace {

struct Place {
  uint64_t draw = 0;
  uint32_t row = 0;
};

// The output function of splitmix64 (Steele, Lea and Flood, 2014).
uint64_t Mixed(uint64_t bits) {
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9u;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebu;
  return bits ^ (bits >> 31);
}

uint64_t Draw(uint64_t seed, uint32_t row) {
  constexpr uint64_t kGoldenGamma = 0x9e3779b97f4a7c15u;
  return Mixed(Mixed(seed + kGoldenGamma) + (uint64_t{row} + 1) * kGoldenGamma);
}

}  // namespace

std::vector<uint32_t> HnswOrder(int64_t rows, uint64_t seed,
                                absl::FunctionRef<bool(uint32_t row)> last) {
  constexpr uint64_t kLast = uint64_t{1} << 63;
  std::vector<Place> places(static_cast<size_t>(rows));
  for (int64_t i = 0; i < rows; ++i) {
    const auto row = static_cast<uint32_t>(i);
    places[i] = {(Draw(seed, row) & ~kLast) | (last(row) ? kLast : 0), row};
  }
  std::sort(places.begin(), places.end(), [](const Place& a, const Place& b) {
    return a.draw != b.draw ? a.draw < b.draw : a.row < b.row;
  });
  std::vector<uint32_t> order(places.size());
  for (size_t i = 0; i < places.size(); ++i) order[i] = places[i].row;
  return order;
}

int64_t HnswOrderMemory(int64_t rows) {
  return rows * static_cast<int64_t>(sizeof(Place) + sizeof(uint32_t));
}

}  // namespace sightline
