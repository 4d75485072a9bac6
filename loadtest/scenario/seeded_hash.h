// Choices that depend on a seed and a number alone: the same on every thread, in any order.
#ifndef SIGHTLINE_LOADTEST_SCENARIO_SEEDED_HASH_H_
#define SIGHTLINE_LOADTEST_SCENARIO_SEEDED_HASH_H_

#include <cstdint>
#include <utility>
#include <vector>

namespace sightline {

inline constexpr uint64_t kGoldenGamma = 0x9E3779B97F4A7C15;  // SplitMix64 steps by it

// The finaliser of SplitMix64 (Steele, Lea and Flood, "Fast Splittable Pseudorandom Number
// Generators", 2014): a bijection in which every bit of `x` moves every bit of the result.
inline uint64_t MixBits(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}

// `purpose` keeps choices about the same number independent of each other.
inline uint64_t SeededHash(uint64_t seed, uint64_t purpose, uint64_t number) {
  const uint64_t of_seed = MixBits(seed + kGoldenGamma);
  const uint64_t of_purpose = MixBits((of_seed ^ purpose) + kGoldenGamma);
  return MixBits((of_purpose ^ number) + kGoldenGamma);
}

// Uniform in [0, 1).
inline double SeededUniform(uint64_t seed, uint64_t purpose, uint64_t number) {
  return static_cast<double>(SeededHash(seed, purpose, number) >> 11) * 0x1p-53;
}

// In an order that depends on the seed alone (Fisher and Yates); unlike std::shuffle, the
// same with every standard library.
template <typename T>
void SeededShuffle(uint64_t seed, uint64_t purpose, std::vector<T>* values) {
  for (size_t i = values->size(); i > 1; --i) {
    const size_t j = static_cast<size_t>(SeededUniform(seed, purpose, i) * static_cast<double>(i));
    std::swap((*values)[i - 1], (*values)[j]);
  }
}

}  // namespace sightline

#endif  // SIGHTLINE_LOADTEST_SCENARIO_SEEDED_HASH_H_
