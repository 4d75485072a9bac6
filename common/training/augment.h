// Pictures on the device that trains, as they are and randomly changed.
//
// Includes torch: only .cc files of common/training and its tests include this.
#ifndef SIGHTLINE_COMMON_TRAINING_AUGMENT_H_
#define SIGHTLINE_COMMON_TRAINING_AUGMENT_H_

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <cstdint>
#include <vector>

#include "common/training/random.h"
#include "common/training/training_options.h"
#include "common/training/training_set.h"

namespace sightline {

// A set's pictures.  On a GPU they are copied there once (28 kB a picture of 96 x 96); on
// the CPU they stay in the set's file, which must outlive this.  Immutable, thread-safe.
class Pictures {
 public:
  Pictures(const TrainingSet& set, c10::Device device);

  int64_t count() const { return bytes_.size(0); }

  // B x 3 x S x S bytes on the device.
  at::Tensor Take(const std::vector<int64_t>& rows) const;

 private:
  const at::Tensor bytes_;  // n x 3 x S x S
};

// Bytes to the scale of 0 to 1 that GridNet reads.
at::Tensor PlainPictures(const at::Tensor& bytes);

// The same with random changes: colours, then place, then a hole.  Everything is computed
// in ink, one minus the value: white is no ink and stays white, and what is moved in from
// outside is white, like the margin of a served picture.  `random` alone decides.  Without
// autograd.
at::Tensor AugmentPictures(const at::Tensor& bytes, const AugmentOptions& options, Random* random);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_TRAINING_AUGMENT_H_
