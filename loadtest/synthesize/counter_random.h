// Random numbers by their place: number n of stream k is a function of k and n alone, so
// that any thread can make any part of a generation, in any order.
//
// The generator is splitmix64 (Steele, Lea and Flood, 2014), whose state is a counter.
#ifndef SIGHTLINE_LOADTEST_SYNTHESIZE_COUNTER_RANDOM_H_
#define SIGHTLINE_LOADTEST_SYNTHESIZE_COUNTER_RANDOM_H_

#include <cstdint>

#include "loadtest/scenario/seeded_hash.h"

namespace sightline {

// What numbers are for.  Streams of one seed never share numbers.
enum class RandomUse : uint64_t {
  kItem = 1,       // an item's own part of its embedding
  kCluster,        // which cluster an item is of
  kClusterCenter,  // a cluster's part of the embeddings
  kRotation,
  kRegionPool,
  kRegionChoice,
  kGroup,          // which group a cluster is of
  kGroupCenter,    // the part that clusters of a group have in common
  kClusterSpread,  // how much items of a cluster have for themselves
  kQuery,          // what a query has for itself
  kMean,
};

// The key of a stream: that of the `index`-th thing that has numbers for `use`.
inline uint64_t StreamKey(uint64_t seed, RandomUse use, uint64_t index) {
  uint64_t key = MixBits(seed + kGoldenGamma);
  key = MixBits(key ^ (static_cast<uint64_t>(use) * kGoldenGamma));
  return MixBits(key ^ (index * kGoldenGamma));
}

// Number `n` of the stream: 64 random bits.
inline uint64_t RandomBits(uint64_t key, uint64_t n) {
  return MixBits(key + (n + 1) * kGoldenGamma);
}

// 53 of the bits as a number from 0 to below 1.
inline double Even(uint64_t bits) {
  return 0x1.0p-53 * static_cast<double>(bits >> 11);
}

// Mean 0, variance 1, between -3.5 and 3.5: the sum of the four 16-bit numbers in `bits`.
// Needs no logarithm, whose last bit differs between libraries.
inline float NearlyNormal(uint64_t bits) {
  const int32_t sum = static_cast<int32_t>((bits & 0xffff) + ((bits >> 16) & 0xffff) +
                                           ((bits >> 32) & 0xffff) + (bits >> 48));
  constexpr float kDeviation = 37837.227f;  // sqrt(4 * (65536^2 - 1) / 12)
  return static_cast<float>(sum - 131070) / kDeviation;
}

}  // namespace sightline

#endif  // SIGHTLINE_LOADTEST_SYNTHESIZE_COUNTER_RANDOM_H_
