// The running statistics of a network's norms over batches (SGRAF's), which a forward pass moves
// when it learns.
//
// Includes torch: only .cc files of common/training and its tests include this.
#ifndef SIGHTLINE_COMMON_TRAINING_NORM_STATISTICS_H_
#define SIGHTLINE_COMMON_TRAINING_NORM_STATISTICS_H_

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "absl/status/status.h"
#include "common/models/network/trainable_network.h"
#include "common/training/world.h"

namespace sightline {

// A copy of all of them, one after another, in float64; of a network without norms over batches
// no number.
at::Tensor StatisticsOf(const TrainableNetwork& learner);

// Makes them what they were, to the bit, when StatisticsOf was asked.
void SetStatistics(const at::Tensor& statistics, const TrainableNetwork& learner);

// Makes of the statistics that this process's texts have moved from `before` those that all `count`
// texts would have, one after another; `own` are this process's.  Each text's pairs move them once.
// Errors as TrainingWorld's.
absl::Status MoveByAll(const at::Tensor& before, const WorldPart& own, int64_t count,
                       const TrainableNetwork& learner, TrainingWorld* world);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_TRAINING_NORM_STATISTICS_H_
