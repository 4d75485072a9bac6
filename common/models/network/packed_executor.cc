#include "common/models/network/packed_executor.h"

#include <ATen/ATen.h>

#include <utility>

#include "common/kernels/block_stack.h"
#include "common/kernels/pool_team.h"
#include "common/models/network/block_weights.h"

namespace sightline {
namespace {

using kernels::BlockStack;
using kernels::BlockWeights;

BlockStack StackOf(BertEncoderImpl& encoder, const kernels::ProductKernel& kernel) {
  BlockStack stack(kernel, ShapeOf(encoder.config()));
  (void)TakeBlocks(encoder, [&](const BlockWeights& weights) {
    stack.Add(weights);
    return absl::OkStatus();
  });
  return stack;
}

class PackedExecutor : public TransformerExecutor {
 public:
  PackedExecutor(BlockStack stack, ComputePool* pool) : stack_(std::move(stack)), pool_(pool) {}

  at::Tensor Run(const PackedParts& packed, Readout readout) const override {
    const PackedSequences sequences(packed);
    const bool first_only = readout == Readout::kFirstRows;
    const int64_t count = first_only ? sequences.view().count : sequences.rows();
    const at::Tensor out = at::empty({count, packed.parts[0].columns()});
    float* const read = out.data_ptr<float>();
    kernels::RunWithTeam(
        pool_, [&](kernels::Team* team) { stack_.Run(sequences.view(), first_only, team, read); });
    return out;
  }

 private:
  const BlockStack stack_;
  ComputePool* const pool_;
};

}  // namespace

std::unique_ptr<const TransformerExecutor> NewPackedExecutor(BertEncoder encoder,
                                                             const kernels::ProductKernel& kernel,
                                                             ComputePool* pool) {
  return std::make_unique<PackedExecutor>(StackOf(*encoder, kernel), pool);
}

}  // namespace sightline
