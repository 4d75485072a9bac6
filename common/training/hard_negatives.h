// The wrong pictures that the bi-encoder itself finds: what a cross-encoder has to learn
// to tell from the right one, because that is what it is served.
//
// Includes torch: only .cc files of common/training and its tests include this.
#ifndef SIGHTLINE_COMMON_TRAINING_HARD_NEGATIVES_H_
#define SIGHTLINE_COMMON_TRAINING_HARD_NEGATIVES_H_

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "common/training/batches.h"
#include "common/training/training_rows.h"

namespace sightline {

// For each captioned row the `width` pictured rows of the largest inner product with its
// caption that are not related to it, largest first.  texts: one row for each of
// rows.captioned(); images: one for each of rows.pictured(); both on one device.
MinedNegatives MineNegatives(const TrainingRows& rows, const at::Tensor& texts,
                             const at::Tensor& images, int64_t width);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_TRAINING_HARD_NEGATIVES_H_
