// Where the regions of a picture come from in training: from its pixels, through the stem
// and with gradients; or, once the stem is frozen, from what it made of them before.
//
// Includes torch: only .cc files of common/training and its tests include this.
#ifndef SIGHTLINE_COMMON_TRAINING_GRID_SOURCE_H_
#define SIGHTLINE_COMMON_TRAINING_GRID_SOURCE_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "common/training/augment.h"
#include "common/training/joint_net.h"
#include "common/training/random.h"
#include "common/training/training_options.h"

namespace sightline {

// Results are B x R x (C + 6), see JointNet::WithBoxes.  Not thread-safe.  What it is made
// of must outlive it.
class GridSource {
 public:
  GridSource(const Pictures* pictures, JointNet* net, const TrainingOptions* options)
      : pictures_(*pictures), net_(*net), options_(*options) {}

  // Of randomly changed pictures, for a training step.
  at::Tensor Shown(const std::vector<int64_t>& rows, Random* random);
  // Of the pictures as they are, without autograd.
  at::Tensor Plain(const std::vector<int64_t>& rows);

  // From now on the stem is not run: computes what it makes of all pictures as they are.
  // Its weights must not change any more.
  void Freeze();
  bool frozen() const { return plain_.defined(); }
  // When frozen: computes the changed copies number `number` of the pictures of `rows`,
  // unless these are there already.  Only these rows can be shown.
  void Refresh(int64_t number, const std::vector<int64_t>& rows);

 private:
  const Pictures& pictures_;
  JointNet& net_;
  const TrainingOptions& options_;
  at::Tensor plain_;                   // n x R x C float16
  at::Tensor changed_;                 // variants * rows x R x C float16
  std::vector<int64_t> place_of_row_;  // in changed_, within a variant
  int64_t changed_rows_ = 0;
  int64_t number_ = -1;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_TRAINING_GRID_SOURCE_H_
