#include "common/models/network/block_weights.h"

#include <ATen/ATen.h>
#include <malloc.h>

#include <string>

#include "common/base/status_macros.h"

namespace sightline {
namespace {

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

}  // namespace

kernels::StackShape ShapeOf(const BertConfig& config) {
  return {config.hidden_size, config.head_count, config.intermediate_size,
          static_cast<float>(config.layer_norm_epsilon)};
}

absl::Status TakeBlocks(BertEncoderImpl& encoder,
                        const std::function<absl::Status(const BlockWeights&)>& take) {
  for (const auto& block : *encoder.blocks()) {
    const NamedTensors tensors = block->named_parameters();
    RETURN_IF_ERROR(take(
        {LinearOf(tensors, "attention.self.query"), LinearOf(tensors, "attention.self.key"),
         LinearOf(tensors, "attention.self.value"), LinearOf(tensors, "attention.output.dense"),
         NormOf(tensors, "attention.output.LayerNorm"), LinearOf(tensors, "intermediate.dense"),
         LinearOf(tensors, "output.dense"), NormOf(tensors, "output.LayerNorm")}));
    for (at::Tensor& parameter : block->parameters()) parameter.set_data(at::empty({0}));
    // They lie between others, where malloc would keep them.
    malloc_trim(0);
  }
  return absl::OkStatus();
}

PackedSequences::PackedSequences(const PackedParts& packed) {
  for (const ItemRows& part : packed.parts) {
    parts_.push_back(PartOf(part, &whole_));
    rows_ += part.count();
  }
  if (packed.key_bias.defined()) bias_ = packed.key_bias.contiguous();
  view_ = {parts_.data(), static_cast<int64_t>(parts_.size()),
           bias_.defined() ? bias_.data_ptr<float>() : nullptr, packed.lengths.data(),
           static_cast<int64_t>(packed.lengths.size())};
}

}  // namespace sightline
