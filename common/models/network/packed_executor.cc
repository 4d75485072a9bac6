#include "common/models/network/packed_executor.h"

#include <ATen/ATen.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/kernels/block_stack.h"
#include "common/kernels/pool_team.h"

namespace sightline {
namespace {

using kernels::BlockStack;
using kernels::BlockWeights;
using kernels::LinearWeights;
using kernels::NormWeights;

using NamedTensors = torch::OrderedDict<std::string, at::Tensor>;

LinearWeights LinearOf(const NamedTensors& tensors, const std::string& name) {
  const at::Tensor& weights = tensors[name + ".weight"];
  return {weights.data_ptr<float>(), tensors[name + ".bias"].data_ptr<float>(), weights.size(0),
          weights.size(1)};
}

NormWeights NormOf(const NamedTensors& tensors, const std::string& name) {
  return {tensors[name + ".weight"].data_ptr<float>(), tensors[name + ".bias"].data_ptr<float>()};
}

BlockStack StackOf(const BertEncoderImpl& encoder, const kernels::ProductKernel& kernel) {
  const NamedTensors tensors = encoder.named_parameters();
  const BertConfig& config = encoder.config();
  std::vector<BlockWeights> blocks;
  for (int64_t i = 0; i < config.layer_count; ++i) {
    const std::string block = absl::StrCat("layer.", i, ".");
    blocks.push_back({LinearOf(tensors, block + "attention.self.query"),
                      LinearOf(tensors, block + "attention.self.key"),
                      LinearOf(tensors, block + "attention.self.value"),
                      LinearOf(tensors, block + "attention.output.dense"),
                      NormOf(tensors, block + "attention.output.LayerNorm"),
                      LinearOf(tensors, block + "intermediate.dense"),
                      LinearOf(tensors, block + "output.dense"),
                      NormOf(tensors, block + "output.LayerNorm")});
  }
  return BlockStack(kernel,
                    {config.hidden_size, config.head_count, config.intermediate_size,
                     static_cast<float>(config.layer_norm_epsilon)},
                    blocks);
}

class PackedExecutor : public TransformerExecutor {
 public:
  PackedExecutor(BlockStack stack, ComputePool* pool) : stack_(std::move(stack)), pool_(pool) {}

  at::Tensor Run(PackedRows packed, Readout readout) const override {
    const at::Tensor rows = packed.rows.contiguous();
    const at::Tensor bias = packed.key_bias.defined() ? packed.key_bias.contiguous() : at::Tensor();
    const bool first_only = readout == Readout::kFirstRows;
    const int64_t count = static_cast<int64_t>(packed.lengths.size());
    const at::Tensor out = at::empty({first_only ? count : rows.size(0), rows.size(1)});
    const kernels::Sequences sequences = {rows.data_ptr<float>(),
                                          bias.defined() ? bias.data_ptr<float>() : nullptr,
                                          packed.lengths.data(), count};
    float* const read = out.data_ptr<float>();
    kernels::RunWithTeam(
        pool_, [&](kernels::Team* team) { stack_.Run(sequences, first_only, team, read); });
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
  auto executor = std::make_unique<PackedExecutor>(StackOf(*encoder, kernel), pool);
  for (at::Tensor& parameter : encoder->parameters()) parameter.set_data(at::empty({0}));
  return executor;
}

}  // namespace sightline
