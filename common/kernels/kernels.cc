#include "common/kernels/kernels.h"

namespace sightline::kernels {
namespace {

// What is padded is padded to the widest register, and rows are taken six at a time.
constexpr int64_t kWidest = 16, kTileRows = 6;

int64_t Whole(int64_t n) {
  return (n + kWidest - 1) / kWidest * kWidest;
}

}  // namespace

int64_t AttentionScratch(int64_t length, int64_t head_size) {
  const int64_t keys = Whole(length), width = Whole(head_size);
  return head_size * keys + kTileRows * (keys + width) + length * width;
}

}  // namespace sightline::kernels
