#include "common/models/network/transformer.h"

#include <c10/util/Exception.h>
#include <torch/nn/functional/activation.h>
#include <torch/nn/init.h>
#include <torch/types.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/models/network/batched_product.h"
#include "common/models/network/level.h"

namespace sightline {

torch::Tensor SequenceRun::Of(const torch::Tensor& rows) const {
  std::vector<int64_t> shape = rows.sizes().vec();
  shape[0] = length;
  shape.insert(shape.begin(), count);
  return rows.narrow(0, begin, count * length).view(shape);
}

std::vector<int64_t> BeginsOf(const std::vector<int64_t>& lengths) {
  std::vector<int64_t> begins;
  int64_t next = 0;
  for (const int64_t length : lengths) {
    begins.push_back(next);
    next += length;
  }
  return begins;
}

std::vector<SequenceRun> RunsOf(const std::vector<int64_t>& lengths) {
  std::vector<SequenceRun> runs;
  int64_t begin = 0;
  for (size_t i = 0; i < lengths.size(); ++i) {
    if (runs.empty() || runs.back().length != lengths[i]) {
      runs.push_back({static_cast<int64_t>(i), begin, 0, lengths[i]});
    }
    ++runs.back().count;
    begin += lengths[i];
  }
  return runs;
}

torch::Tensor MeanOfEach(const torch::Tensor& rows, const std::vector<int64_t>& lengths) {
  std::vector<torch::Tensor> means;
  for (const SequenceRun& run : RunsOf(lengths)) means.push_back(run.Of(rows).mean(1));
  return torch::cat(means);
}

BertConfig BertConfigOf(const bundle::v1::TransformerSpec& spec) {
  BertConfig config;
  config.layer_count = spec.layer_count();
  config.hidden_size = spec.hidden_size();
  config.head_count = spec.head_count();
  config.intermediate_size = spec.intermediate_size();
  config.vocabulary_size = spec.vocabulary_size();
  config.position_count = spec.position_count();
  config.token_type_count = spec.token_type_count();
  config.layer_norm_epsilon = spec.layer_norm_epsilon();
  return config;
}

torch::nn::LayerNorm MakeLayerNorm(const BertConfig& config) {
  return torch::nn::LayerNorm(
      torch::nn::LayerNormOptions({config.hidden_size}).eps(config.layer_norm_epsilon));
}

BertSelfAttentionImpl::BertSelfAttentionImpl(const BertConfig& config)
    : head_count_(config.head_count),
      query_(register_module("query", torch::nn::Linear(config.hidden_size, config.hidden_size))),
      key_(register_module("key", torch::nn::Linear(config.hidden_size, config.hidden_size))),
      value_(register_module("value", torch::nn::Linear(config.hidden_size, config.hidden_size))),
      dropout_(register_module("dropout", RowDropout(config.dropout))) {}

torch::Tensor BertSelfAttentionImpl::Attend(const torch::Tensor& q, const torch::Tensor& k,
                                            const torch::Tensor& v, const torch::Tensor& bias,
                                            const RowKeys& keys) {
  const int64_t hidden = q.size(-1), head_size = hidden / head_count_;
  const auto by_head = [&](const torch::Tensor& x) {
    return x.view({x.size(0), x.size(1), head_count_, head_size}).transpose(1, 2);
  };
  torch::Tensor scores = BatchedProduct(by_head(q), by_head(k).transpose(2, 3));
  scores = scores / std::sqrt(static_cast<double>(head_size));
  if (bias.defined()) scores = scores + bias;
  const torch::Tensor weights = dropout_(torch::softmax(scores, -1), keys);
  return BatchedProduct(weights, by_head(v)).transpose(1, 2).reshape(q.sizes());
}

torch::Tensor BertSelfAttentionImpl::forward(const torch::Tensor& rows, const torch::Tensor& bias,
                                             const RowKeys& keys) {
  return Attend(query_(rows), key_(rows), value_(rows), bias, keys);
}

torch::Tensor BertSelfAttentionImpl::ForwardPacked(const PackedPass& pass,
                                                   const torch::Tensor& rows,
                                                   const torch::Tensor& queries,
                                                   const PaddedRows& padding, const RowKeys& keys) {
  const torch::Tensor q = padding.Pad(query_(queries)), k = pass.padding.Pad(key_(rows)),
                      v = pass.padding.Pad(value_(rows));
  return padding.Pack(Attend(q, k, v, pass.bias, keys));
}

BertResidualImpl::BertResidualImpl(int64_t input_size, const BertConfig& config)
    : dense_(register_module("dense", torch::nn::Linear(input_size, config.hidden_size))),
      norm_(register_module("LayerNorm", MakeLayerNorm(config))),
      dropout_(register_module("dropout", RowDropout(config.dropout))) {}

torch::Tensor BertResidualImpl::forward(const torch::Tensor& input, const torch::Tensor& residual,
                                        const RowKeys& keys) {
  return norm_(residual + dropout_(dense_(input), keys));
}

BertLayerImpl::BertLayerImpl(const BertConfig& config) {
  auto attention = register_module("attention", std::make_shared<Level>());
  self_ = attention->Add("self", BertSelfAttention(config));
  attention_output_ = attention->Add("output", BertResidual(config.hidden_size, config));
  intermediate_ =
      register_module("intermediate", std::make_shared<Level>())
          ->Add("dense", torch::nn::Linear(config.hidden_size, config.intermediate_size));
  output_ = register_module("output", BertResidual(config.intermediate_size, config));
}

torch::Tensor BertLayerImpl::AfterAttention(const torch::Tensor& seen, const torch::Tensor& rows,
                                            const RowKeys& keys) {
  const torch::Tensor attended = attention_output_(seen, rows, keys);
  return output_(torch::gelu(intermediate_(attended)), attended, keys);
}

torch::Tensor BertLayerImpl::forward(const torch::Tensor& rows, const torch::Tensor& bias,
                                     const BlockKeys& keys) {
  return AfterAttention(self_(rows, bias, keys.attention), rows, keys.rows);
}

torch::Tensor BertLayerImpl::ForwardPacked(const PackedPass& pass, const torch::Tensor& rows) {
  return AfterAttention(self_->ForwardPacked(pass, rows, rows, pass.padding, pass.keys.attention),
                        rows, pass.keys.rows);
}

torch::Tensor BertLayerImpl::ForwardPacked(const PackedPass& pass, const torch::Tensor& rows,
                                           const ReadRows& read) {
  const torch::Tensor queries = rows.index_select(0, read.rows);
  return AfterAttention(
      self_->ForwardPacked(pass, rows, queries, read.padding, read.keys.attention), queries,
      read.keys.rows);
}

BertEncoderImpl::BertEncoderImpl(const BertConfig& config)
    : config_(config),
      dropout_(register_module("dropout", RowDropout(config.dropout))),
      layers_(register_module("layer", torch::nn::ModuleList())) {
  for (int64_t i = 0; i < config.layer_count; ++i) layers_->push_back(BertLayer(config));
}

BlockKeys BertEncoderImpl::KeysOf(const std::vector<int64_t>& lengths) const {
  const auto count = static_cast<int64_t>(lengths.size());
  const int64_t longest = *std::max_element(lengths.begin(), lengths.end());
  return {RowKeysOf(lengths), AttentionKeysOf(count, config_.head_count, longest)};
}

torch::Tensor BertEncoderImpl::forward(const torch::Tensor& rows, const torch::Tensor& key_bias) {
  const torch::Tensor bias =
      key_bias.defined() ? key_bias.unsqueeze(1).unsqueeze(1) : torch::Tensor();
  BlockKeys keys;
  if (dropout_->drops()) keys = KeysOf(std::vector<int64_t>(rows.size(0), rows.size(1)));
  torch::Tensor x = dropout_(rows, keys.rows);
  for (const std::shared_ptr<torch::nn::Module>& layer : *layers_) {
    x = layer->as<BertLayerImpl>()->forward(x, bias, keys);
  }
  return x;
}

PackedPass BertEncoderImpl::PassOf(const PackedRows& packed) const {
  PackedPass pass{PaddedRows(packed.lengths, packed.rows.device()), {}, {}};
  const PaddedRows& padding = pass.padding;
  torch::Tensor bias;
  if (padding.mask().defined()) bias = KeyBiasOf(padding.mask());
  if (packed.key_bias.defined()) {
    const torch::Tensor own = padding.Pad(packed.key_bias.unsqueeze(1)).squeeze(2);
    bias = bias.defined() ? bias + own : own;
  }
  if (bias.defined()) pass.bias = bias.unsqueeze(1).unsqueeze(1);
  if (dropout_->drops()) pass.keys = KeysOf(packed.lengths);
  return pass;
}

ReadRows BertEncoderImpl::ReadOf(const PackedRows& packed, const std::vector<int64_t>& rows) const {
  std::vector<std::vector<int64_t>> places;
  std::vector<int64_t> counts;
  size_t next = 0;
  int64_t begin = 0;
  for (const int64_t length : packed.lengths) {
    std::vector<int64_t>& of_sequence = places.emplace_back();
    for (; next < rows.size() && rows[next] < begin + length; ++next) {
      of_sequence.push_back(rows[next] - begin);
    }
    TORCH_CHECK(!of_sequence.empty() && of_sequence.front() >= 0, "no row, or one that does not ",
                "rise, of a sequence that begins at ", begin);
    counts.push_back(static_cast<int64_t>(of_sequence.size()));
    begin += length;
  }
  TORCH_CHECK(next == rows.size(), "row ", rows[next], " of ", begin);
  const c10::Device device = packed.rows.device();
  ReadRows read{torch::tensor(rows, torch::kInt64).to(device), PaddedRows(counts, device), {}};
  if (dropout_->drops()) {
    read.keys = {RowKeysAt(places), AttentionKeysAt(places, config_.head_count)};
  }
  return read;
}

torch::Tensor BertEncoderImpl::ForwardThrough(const PackedPass& pass, const PackedRows& packed,
                                              size_t layers) {
  torch::Tensor rows = dropout_(packed.rows, pass.keys.rows);
  for (size_t i = 0; i < layers; ++i) {
    rows = layers_[i]->as<BertLayerImpl>()->ForwardPacked(pass, rows);
  }
  return rows;
}

torch::Tensor BertEncoderImpl::ForwardPacked(const PackedRows& packed, Readout readout) {
  if (readout == Readout::kFirstRows) return ForwardPackedAt(packed, BeginsOf(packed.lengths));
  return ForwardThrough(PassOf(packed), packed, layers_->size());
}

torch::Tensor BertEncoderImpl::ForwardPackedAt(const PackedRows& packed,
                                               const std::vector<int64_t>& rows) {
  const PackedPass pass = PassOf(packed);
  const size_t below = layers_->size() - 1;
  const torch::Tensor seen = ForwardThrough(pass, packed, below);
  return layers_[below]->as<BertLayerImpl>()->ForwardPacked(pass, seen, ReadOf(packed, rows));
}

BertEmbeddingsImpl::BertEmbeddingsImpl(const BertConfig& config)
    : words_(register_module("word_embeddings",
                             torch::nn::Embedding(torch::nn::EmbeddingOptions(
                                                      config.vocabulary_size, config.hidden_size)
                                                      .padding_idx(kPaddingToken)))),
      positions_(register_module("position_embeddings",
                                 torch::nn::Embedding(config.position_count, config.hidden_size))),
      types_(register_module("token_type_embeddings",
                             torch::nn::Embedding(config.token_type_count, config.hidden_size))),
      norm_(register_module("LayerNorm", MakeLayerNorm(config))) {}

torch::Tensor BertEmbeddingsImpl::forward(const torch::Tensor& ids, int64_t first_position,
                                          int64_t type) {
  const torch::Tensor positions = positions_->weight.narrow(0, first_position, ids.size(-1));
  return norm_(words_(ids) + positions + TypeRow(type));
}

BertPoolerImpl::BertPoolerImpl(const BertConfig& config)
    : dense_(register_module("dense", torch::nn::Linear(config.hidden_size, config.hidden_size))) {}

torch::Tensor BertPoolerImpl::forward(const torch::Tensor& first_rows) {
  return torch::tanh(dense_(first_rows));
}

torch::Tensor KeyBiasOf(const torch::Tensor& mask) {
  return (1 - mask) * kMaskedScore;
}

torch::Tensor MaskedMean(const torch::Tensor& rows, const torch::Tensor& mask) {
  if (!mask.defined()) return rows.mean(1);
  const torch::Tensor weights = mask.unsqueeze(-1);
  return (rows * weights).sum(1) / weights.sum(1).clamp_min(1e-9);
}

}  // namespace sightline
