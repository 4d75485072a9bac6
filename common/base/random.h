// Random numbers that are the same on every machine, with every compiler and library:
// xoshiro256** (Blackman and Vigna, 2018), seeded through splitmix64.  The distributions
// of <random> are not: the standard leaves their algorithms open.
#ifndef SIGHTLINE_COMMON_BASE_RANDOM_H_
#define SIGHTLINE_COMMON_BASE_RANDOM_H_

#include <cstdint>
#include <utility>
#include <vector>

namespace sightline {

inline uint64_t SplitMix64(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// Not thread-safe.
class Random {
 public:
  explicit Random(uint64_t seed) {
    for (uint64_t& word : state_) {
      seed = SplitMix64(seed);
      word = seed;
    }
  }

  uint64_t Next() {
    const uint64_t result = Rotate(state_[1] * 5, 7) * 9;
    const uint64_t shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = Rotate(state_[3], 45);
    return result;
  }

  // In [0, 1), a multiple of 2^-53.
  double Uniform() { return static_cast<double>(Next() >> 11) * 0x1.0p-53; }
  double Between(double low, double high) { return low + (high - low) * Uniform(); }
  bool Chance(double probability) { return Uniform() < probability; }

  // In [0, count); count > 0.  Every number equally likely: draws that would favour the
  // low ones are drawn again.
  int64_t Below(int64_t count) {
    const uint64_t n = static_cast<uint64_t>(count);
    const uint64_t excess = (~n + 1) % n;  // 2^64 mod n
    uint64_t draw = Next();
    while (draw < excess) draw = Next();
    return static_cast<int64_t>(draw % n);
  }

  // Puts a random choice of `count` elements, in random order, first.
  template <typename T>
  void ShuffleFirst(int64_t count, std::vector<T>* values) {
    const int64_t size = static_cast<int64_t>(values->size());
    for (int64_t i = 0; i < count && i + 1 < size; ++i) {
      std::swap((*values)[i], (*values)[i + Below(size - i)]);
    }
  }

 private:
  static uint64_t Rotate(uint64_t x, int bits) { return (x << bits) | (x >> (64 - bits)); }

  uint64_t state_[4];
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_BASE_RANDOM_H_
