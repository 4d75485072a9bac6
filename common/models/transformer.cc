#include "common/models/transformer.h"

#include <torch/nn/functional/activation.h>
#include <torch/nn/init.h>
#include <torch/types.h>

#include <cmath>
#include <utility>

namespace sightline {
namespace {

// What padding adds to a score.  exp(-10000) is zero in fp32, so padded keys have no
// weight at all; the finite value is the checkpoints' own.
constexpr double kMaskedScore = -10000.0;

// B x L -> B x 1 x 1 x L, 0 for real rows.
torch::Tensor ScoreBias(const torch::Tensor& mask) {
  if (!mask.defined()) return mask;
  return ((1 - mask) * kMaskedScore).unsqueeze(1).unsqueeze(1);
}

// `mask`, or one without padding on the device of `other`, which is defined then.
torch::Tensor OrOnes(const torch::Tensor& mask, const torch::Tensor& other, int64_t width) {
  return mask.defined() ? mask : torch::ones({other.size(0), width}, other.options());
}

// A module without parameters of its own, for a level of the checkpoint's names.
class Level : public torch::nn::Module {
 public:
  template <typename Child>
  Child Add(const char* name, Child child) {
    return register_module(name, std::move(child));
  }
};

class ReferenceExecutor : public TransformerExecutor {
 public:
  explicit ReferenceExecutor(BertEncoder encoder) : encoder_(encoder.ptr()) { encoder_->eval(); }

  torch::Tensor Run(const torch::Tensor& rows, const torch::Tensor& mask) const override {
    return encoder_->forward(rows, mask);
  }

 private:
  const std::shared_ptr<BertEncoderImpl> encoder_;
};

}  // namespace

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
      dropout_(register_module("dropout", torch::nn::Dropout(config.dropout))) {}

torch::Tensor BertSelfAttentionImpl::forward(const torch::Tensor& rows, const torch::Tensor& bias) {
  const int64_t batch = rows.size(0), length = rows.size(1), hidden = rows.size(2);
  const int64_t head_size = hidden / head_count_;
  const auto by_head = [&](const torch::Tensor& x) {
    return x.view({batch, length, head_count_, head_size}).transpose(1, 2);
  };
  torch::Tensor scores = torch::matmul(by_head(query_(rows)), by_head(key_(rows)).transpose(2, 3));
  scores = scores / std::sqrt(static_cast<double>(head_size));
  if (bias.defined()) scores = scores + bias;
  const torch::Tensor weights = dropout_(torch::softmax(scores, -1));
  return torch::matmul(weights, by_head(value_(rows)))
      .transpose(1, 2)
      .reshape({batch, length, hidden});
}

BertResidualImpl::BertResidualImpl(int64_t input_size, const BertConfig& config)
    : dense_(register_module("dense", torch::nn::Linear(input_size, config.hidden_size))),
      norm_(register_module("LayerNorm", MakeLayerNorm(config))),
      dropout_(register_module("dropout", torch::nn::Dropout(config.dropout))) {}

torch::Tensor BertResidualImpl::forward(const torch::Tensor& input, const torch::Tensor& residual) {
  return norm_(residual + dropout_(dense_(input)));
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

torch::Tensor BertLayerImpl::forward(const torch::Tensor& rows, const torch::Tensor& bias) {
  const torch::Tensor attended = attention_output_(self_(rows, bias), rows);
  return output_(torch::gelu(intermediate_(attended)), attended);
}

BertEncoderImpl::BertEncoderImpl(const BertConfig& config)
    : layers_(register_module("layer", torch::nn::ModuleList())) {
  for (int64_t i = 0; i < config.layer_count; ++i) layers_->push_back(BertLayer(config));
}

torch::Tensor BertEncoderImpl::forward(const torch::Tensor& rows, const torch::Tensor& mask) {
  const torch::Tensor bias = ScoreBias(mask);
  torch::Tensor x = rows;
  for (const std::shared_ptr<torch::nn::Module>& layer : *layers_) {
    x = layer->as<BertLayerImpl>()->forward(x, bias);
  }
  return x;
}

BertEmbeddingsImpl::BertEmbeddingsImpl(const BertConfig& config)
    : words_(register_module("word_embeddings",
                             torch::nn::Embedding(config.vocabulary_size, config.hidden_size))),
      positions_(register_module("position_embeddings",
                                 torch::nn::Embedding(config.position_count, config.hidden_size))),
      types_(register_module("token_type_embeddings",
                             torch::nn::Embedding(config.token_type_count, config.hidden_size))),
      norm_(register_module("LayerNorm", MakeLayerNorm(config))),
      dropout_(register_module("dropout", torch::nn::Dropout(config.dropout))) {}

torch::Tensor BertEmbeddingsImpl::forward(const torch::Tensor& ids, const torch::Tensor& types) {
  const torch::Tensor positions = positions_->weight.narrow(0, 0, ids.size(1));
  const torch::Tensor type_rows = types.defined() ? types_(types) : types_->weight[0];
  return dropout_(norm_(words_(ids) + positions + type_rows));
}

BertPoolerImpl::BertPoolerImpl(const BertConfig& config)
    : dense_(register_module("dense", torch::nn::Linear(config.hidden_size, config.hidden_size))) {}

torch::Tensor BertPoolerImpl::forward(const torch::Tensor& rows) {
  return torch::tanh(dense_(rows.select(1, 0)));
}

torch::Tensor ConcatMasks(const torch::Tensor& first, int64_t first_width,
                          const torch::Tensor& second, int64_t second_width) {
  if (!first.defined() && !second.defined()) return {};
  return torch::cat({OrOnes(first, second, first_width), OrOnes(second, first, second_width)}, 1);
}

torch::Tensor MaskedMean(const torch::Tensor& rows, const torch::Tensor& mask) {
  if (!mask.defined()) return rows.mean(1);
  const torch::Tensor weights = mask.unsqueeze(-1);
  return (rows * weights).sum(1) / weights.sum(1).clamp_min(1e-9);
}

std::unique_ptr<TransformerExecutor> NewReferenceExecutor(BertEncoder encoder) {
  return std::make_unique<ReferenceExecutor>(std::move(encoder));
}

}  // namespace sightline
