#include "common/models/network/packed_executor.h"

#include <ATen/ATen.h>

#include <string>
#include <utility>
#include <vector>

#include "common/kernels/block_stack.h"
#include "common/kernels/pool_team.h"

namespace sightline {
namespace {

using kernels::BlockStack;
using kernels::BlockWeights;
using kernels::LinearWeights;
using kernels::NormWeights;
using kernels::RowPart;

using NamedTensors = torch::OrderedDict<std::string, at::Tensor>;

LinearWeights LinearOf(const NamedTensors& tensors, const std::string& name) {
  const at::Tensor& weights = tensors[name + ".weight"];
  return {weights.data_ptr<float>(), tensors[name + ".bias"].data_ptr<float>(), weights.size(0),
          weights.size(1)};
}

NormWeights NormOf(const NamedTensors& tensors, const std::string& name) {
  return {tensors[name + ".weight"].data_ptr<float>(), tensors[name + ".bias"].data_ptr<float>()};
}

// Packs the block's weights and leaves it without any.
void MoveBlock(torch::nn::Module& block, BlockStack* stack) {
  const NamedTensors tensors = block.named_parameters();
  stack->Add(
      {LinearOf(tensors, "attention.self.query"), LinearOf(tensors, "attention.self.key"),
       LinearOf(tensors, "attention.self.value"), LinearOf(tensors, "attention.output.dense"),
       NormOf(tensors, "attention.output.LayerNorm"), LinearOf(tensors, "intermediate.dense"),
       LinearOf(tensors, "output.dense"), NormOf(tensors, "output.LayerNorm")});
  for (at::Tensor& parameter : block.parameters()) parameter.set_data(at::empty({0}));
}

BlockStack StackOf(BertEncoderImpl& encoder, const kernels::ProductKernel& kernel) {
  const BertConfig& config = encoder.config();
  BlockStack stack(kernel, {config.hidden_size, config.head_count, config.intermediate_size,
                            static_cast<float>(config.layer_norm_epsilon)});
  for (const auto& block : *encoder.blocks()) MoveBlock(*block, &stack);
  return stack;
}

// Rows where they lie; `whole` keeps those that had to be laid out for it.
RowPart PartOf(const ItemRows& rows, std::vector<at::Tensor>* whole) {
  if (!rows.is_stored()) {
    whole->push_back(rows.tensor().contiguous());
    return {whole->back().data_ptr<float>(), Dtype::kFloat32, nullptr, rows.count()};
  }
  const StoredRows& stored = rows.stored();
  return {stored.rows->bytes.data(), stored.rows->dtype,
          stored.scales == nullptr ? nullptr : stored.scales->bytes.data(), rows.count()};
}

class PackedExecutor : public TransformerExecutor {
 public:
  PackedExecutor(BlockStack stack, ComputePool* pool) : stack_(std::move(stack)), pool_(pool) {}

  at::Tensor Run(const PackedParts& packed, Readout readout) const override {
    std::vector<at::Tensor> whole;
    std::vector<RowPart> parts;
    int64_t rows = 0;
    for (const ItemRows& part : packed.parts) {
      parts.push_back(PartOf(part, &whole));
      rows += part.count();
    }
    const at::Tensor bias = packed.key_bias.defined() ? packed.key_bias.contiguous() : at::Tensor();
    const bool first_only = readout == Readout::kFirstRows;
    const auto count = static_cast<int64_t>(packed.lengths.size());
    const at::Tensor out = at::empty({first_only ? count : rows, packed.parts[0].columns()});
    const kernels::Sequences sequences = {parts.data(), static_cast<int64_t>(parts.size()),
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
  return std::make_unique<PackedExecutor>(StackOf(*encoder, kernel), pool);
}

}  // namespace sightline
