// A picture of a training set, randomly changed as training shows it (augment.h), as bytes.
//
// No torch in here.
#ifndef SIGHTLINE_COMMON_TRAINING_CHANGED_PICTURE_H_
#define SIGHTLINE_COMMON_TRAINING_CHANGED_PICTURE_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "common/training/random.h"
#include "common/training/training_options.h"
#include "common/training/training_set.h"

namespace sightline {

// Planes R, G and B as the set has them, each number rounded to 0 to 255.  `random` alone decides.
// ResourceExhausted when memory runs out.  Thread-safe.
absl::StatusOr<std::string> ChangedPicture(const TrainingSet& set, int64_t row,
                                           const AugmentOptions& options, Random* random);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_TRAINING_CHANGED_PICTURE_H_
