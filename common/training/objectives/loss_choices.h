// Where a paper and its code, or two papers, mean different sums by the same loss: what a recipe
// may choose.
//
// No torch in here.
#ifndef SIGHTLINE_COMMON_TRAINING_OBJECTIVES_LOSS_CHOICES_H_
#define SIGHTLINE_COMMON_TRAINING_OBJECTIVES_LOSS_CHOICES_H_

namespace sightline {

// Which wrong pairs of a text or an image a hinge over a matrix sums (tower_losses.h).
enum class WrongPairs { kHardest, kAll };

// Whether a divergence (prediction_losses.h) is divided by the number of classes, as a mean over
// all numbers does.
enum class ClassReduction { kSum, kMean };

// Whether a hinge over embeddings (tower_losses.h) is the mean over its batch or the sum.
enum class BatchReduction { kMean, kSum };

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_TRAINING_OBJECTIVES_LOSS_CHOICES_H_
