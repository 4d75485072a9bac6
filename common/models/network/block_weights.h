// A trained stack's weights and a pass's rows as kernels take them.
//
// Includes torch: only .cc files of common/models include this.
#ifndef SIGHTLINE_COMMON_MODELS_NETWORK_BLOCK_WEIGHTS_H_
#define SIGHTLINE_COMMON_MODELS_NETWORK_BLOCK_WEIGHTS_H_

#include <ATen/core/Tensor.h>

#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "common/kernels/block_stack.h"
#include "common/models/network/packing.h"
#include "common/models/network/transformer.h"

namespace sightline {

kernels::StackShape ShapeOf(const BertConfig& config);

// Hands the weights of each block to `take`, and leaves the block without any.
absl::Status TakeBlocks(BertEncoderImpl& encoder,
                        const std::function<absl::Status(const kernels::BlockWeights&)>& take);

// The rows of a pass, where they lie: not beyond the life of `packed`.
class PackedSequences {
 public:
  explicit PackedSequences(const PackedParts& packed);

  const kernels::Sequences& view() const { return view_; }
  int64_t rows() const { return rows_; }

 private:
  std::vector<at::Tensor> whole_;  // those that had to be laid out
  std::vector<kernels::RowPart> parts_;
  at::Tensor bias_;
  int64_t rows_ = 0;
  kernels::Sequences view_;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_MODELS_NETWORK_BLOCK_WEIGHTS_H_
