// What the trainer draws random numbers for, and the seeds that keep those draws apart.
#ifndef SIGHTLINE_COMMON_TRAINING_RANDOM_H_
#define SIGHTLINE_COMMON_TRAINING_RANDOM_H_

#include <cstdint>

#include "common/base/random.h"

namespace sightline {

// What a random number is for.  Streams of one run never share numbers.
enum class RandomStream : uint64_t {
  kWeights = 1,
  kBiOrder,
  kBiBatch,
  kCrossOrder,
  kCrossBatch,
  kAugment,
  kDropout,
  kVariants,
  kTrainingSample,
  kTokens,
  kConcepts,
  kConceptTokens,
  kTextOrder,
  kTextBatch,
  kMaskedTokens,
  kMaskedRegions,
  kMismatches,
  kHardTexts,
  kHardImages,
  kTasks,
  kTaskDraws,
  kNearest,
};

// A seed for the `index`-th use of `stream` in the run of `seed`.
inline uint64_t SeedOf(uint64_t seed, RandomStream stream, uint64_t index) {
  uint64_t hash = SplitMix64(seed);
  hash = SplitMix64(hash ^ static_cast<uint64_t>(stream));
  return SplitMix64(hash ^ index);
}

// A seed for row `row` of the whole batch of step `step`: what is drawn for a row depends
// neither on the others nor on which process has it.
inline uint64_t RowSeed(uint64_t seed, RandomStream stream, uint64_t step, uint64_t row) {
  return SeedOf(SeedOf(seed, stream, step), stream, row);
}

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_TRAINING_RANDOM_H_
