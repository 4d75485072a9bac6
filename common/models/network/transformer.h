// The post-LN transformer that every BERT-like family stands on, as torch modules with
// the parameter names of BERT checkpoints.
//
//   x1 = LN(x + Drop(Wo MHA(x)))      x2 = LN(x1 + Drop(W2 gelu(W1 x1)))
//
// with scores divided by sqrt(H / heads), the exact (erf) GELU, and dropout of what the first block
// reads and on the attention's probabilities (Devlin et al., 2019).  A module is in training mode,
// with dropout (row_dropout.h), until eval() is called on it.
//
// Packed, the rows of all items follow one another, and only attention knows where one ends. Padded
// there are B items of L rows each, H hidden size; a mask is B x L float, 1 for a real row and 0
// for padding.
//
// Includes torch: only .cc files of common/models and common/training include this.
#ifndef SIGHTLINE_COMMON_MODELS_NETWORK_TRANSFORMER_H_
#define SIGHTLINE_COMMON_MODELS_NETWORK_TRANSFORMER_H_

#include <torch/nn/modules/container/modulelist.h>
#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/normalization.h>
#include <torch/nn/pimpl.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "common/models/network/padded_rows.h"
#include "common/models/network/row_dropout.h"
#include "sightline/bundle/v1/model_bundle.pb.h"

namespace sightline {

struct BertConfig {
  int64_t layer_count = 12;
  int64_t hidden_size = 768;
  int64_t head_count = 12;
  int64_t intermediate_size = 3072;
  int64_t vocabulary_size = 30522;
  int64_t position_count = 512;
  int64_t token_type_count = 2;
  // LibTorch's own default (1e-5) is not BERT's and changes scores.
  double layer_norm_epsilon = 1e-12;
  // Of hidden rows and of attention probabilities; in training only.
  double dropout = 0.1;
};

BertConfig BertConfigOf(const bundle::v1::TransformerSpec& spec);

torch::nn::LayerNorm MakeLayerNorm(const BertConfig& config);

// Sequences of one pass, one after another.
struct PackedRows {
  torch::Tensor rows;            // T x H
  std::vector<int64_t> lengths;  // of each sequence, at least 1; their sum is T
  // T numbers, added to every score of that row as a key; undefined for none.  For
  // checkpoints whose results depend on rows of padding.
  torch::Tensor key_bias;
};

// Which of the last layer's rows somebody reads.  What nobody reads is not computed.
enum class Readout {
  kAllRows,    // T x H
  kFirstRows,  // B x H, the first row of each sequence
};

// Neighbouring sequences of equal length, which can be computed in one go.
struct SequenceRun {
  int64_t first = 0;  // sequence
  int64_t begin = 0;  // row
  int64_t count = 0;  // sequences
  int64_t length = 0;

  // Their rows out of T x ...: count x length x ...
  torch::Tensor Of(const torch::Tensor& rows) const;
};

// Row numbers at which sequences of these lengths begin.
std::vector<int64_t> BeginsOf(const std::vector<int64_t>& lengths);

std::vector<SequenceRun> RunsOf(const std::vector<int64_t>& lengths);

// Mean of each sequence's rows: B x H.
torch::Tensor MeanOfEach(const torch::Tensor& rows, const std::vector<int64_t>& lengths);

// What a key that must not be seen adds to its scores.  exp(-10000) is zero in fp32, so such
// keys have no weight at all; the finite value is the checkpoints' own.
inline constexpr double kMaskedScore = -10000.0;

// For dropout: keys of the rows that a block makes, and of what their attention pays heed to. Empty
// where nothing is dropped.
struct BlockKeys {
  RowKeys rows, attention;
};

// What blocks have to know of packed rows.
struct PackedPass {
  PaddedRows padding;
  torch::Tensor bias;  // B x 1 x 1 x L, added to the scores; undefined for none
  BlockKeys keys;
};

// Some rows of a pass, which are made of all of them.
struct ReadRows {
  torch::Tensor rows;  // N, by their numbers
  PaddedRows padding;  // of each sequence's
  BlockKeys keys;
};

// Keys query, key, value.
class BertSelfAttentionImpl : public torch::nn::Module {
 public:
  explicit BertSelfAttentionImpl(const BertConfig& config);
  // rows B x L x H; `bias`, B x 1 x 1 x L, is added to the scores unless undefined; `keys` of all
  // that is paid heed to.
  torch::Tensor forward(const torch::Tensor& rows, const torch::Tensor& bias, const RowKeys& keys);
  // What `queries` see of `rows`, T x H; as many rows.  They are some of those, of each sequence
  // as many as `padding` says, with `keys`.
  torch::Tensor ForwardPacked(const PackedPass& pass, const torch::Tensor& rows,
                              const torch::Tensor& queries, const PaddedRows& padding,
                              const RowKeys& keys);

 private:
  // q: B x Q x H, of the rows that ask; k, v: B x L x H.  B x Q x H.
  torch::Tensor Attend(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v,
                       const torch::Tensor& bias, const RowKeys& keys);

  const int64_t head_count_;
  torch::nn::Linear query_, key_, value_;
  RowDropout dropout_;
};
TORCH_MODULE(BertSelfAttention);

// dense, dropout, residual, LayerNorm: the end of both halves of a block.
class BertResidualImpl : public torch::nn::Module {
 public:
  BertResidualImpl(int64_t input_size, const BertConfig& config);
  torch::Tensor forward(const torch::Tensor& input, const torch::Tensor& residual,
                        const RowKeys& keys);

 private:
  torch::nn::Linear dense_;
  torch::nn::LayerNorm norm_;
  RowDropout dropout_;
};
TORCH_MODULE(BertResidual);

// Keys attention.self.*, attention.output.*, intermediate.dense.*, output.*.
class BertLayerImpl : public torch::nn::Module {
 public:
  explicit BertLayerImpl(const BertConfig& config);
  // As BertSelfAttentionImpl's; `keys` of all rows.
  torch::Tensor forward(const torch::Tensor& rows, const torch::Tensor& bias,
                        const BlockKeys& keys);
  // Of `rows`, T x H, what becomes of all of them, or of those that are read: N x H.
  torch::Tensor ForwardPacked(const PackedPass& pass, const torch::Tensor& rows);
  torch::Tensor ForwardPacked(const PackedPass& pass, const torch::Tensor& rows,
                              const ReadRows& read);

 private:
  torch::Tensor AfterAttention(const torch::Tensor& seen, const torch::Tensor& rows,
                               const RowKeys& keys);

  BertSelfAttention self_{nullptr};
  BertResidual attention_output_{nullptr};
  torch::nn::Linear intermediate_{nullptr};
  BertResidual output_{nullptr};
};
TORCH_MODULE(BertLayer);

// Keys layer.N.*.
class BertEncoderImpl : public torch::nn::Module {
 public:
  explicit BertEncoderImpl(const BertConfig& config);
  // Rows are embeddings before their dropout: it is drawn here, where it is known whose they are.
  // The last layer's rows, B x L x H.  `key_bias`, B x L, is added to every score of that row as
  // a key, unless undefined: KeyBiasOf a mask, whose padding nobody then sees; the rows there hold
  // nothing of use.
  torch::Tensor forward(const torch::Tensor& rows, const torch::Tensor& key_bias);
  // The rows that `readout` names.
  torch::Tensor ForwardPacked(const PackedRows& packed, Readout readout);
  // The last layer's rows of these numbers, N x H.  They rise, and each sequence has one at least;
  // throws c10::Error if not.
  torch::Tensor ForwardPackedAt(const PackedRows& packed, const std::vector<int64_t>& rows);

  const BertConfig& config() const { return config_; }
  // Each a BertLayer.
  const torch::nn::ModuleList& blocks() const { return layers_; }

 private:
  // Of sequences of these lengths, to the longest of which queries are padded.
  BlockKeys KeysOf(const std::vector<int64_t>& lengths) const;
  PackedPass PassOf(const PackedRows& packed) const;
  ReadRows ReadOf(const PackedRows& packed, const std::vector<int64_t>& rows) const;
  // What the first `layers` layers make of all rows.
  torch::Tensor ForwardThrough(const PackedPass& pass, const PackedRows& packed, size_t layers);

  const BertConfig config_;
  RowDropout dropout_;
  torch::nn::ModuleList layers_;
};
TORCH_MODULE(BertEncoder);

// Of BERT's vocabularies.  Its word vector learns nothing, as in the released code: only a
// VLDeformer, which averages over padding, would give it a gradient.
inline constexpr int64_t kPaddingToken = 0;

// Keys word_embeddings, position_embeddings, token_type_embeddings, LayerNorm.
class BertEmbeddingsImpl : public torch::nn::Module {
 public:
  explicit BertEmbeddingsImpl(const BertConfig& config);
  // LN(word + position + type).  ids ... x L int64; positions are
  // first_position ..., of which position_count must not be exceeded.
  torch::Tensor forward(const torch::Tensor& ids, int64_t first_position = 0, int64_t type = 0);

  // A row of the type table, H.
  torch::Tensor TypeRow(int64_t type) const { return types_->weight[type]; }

 private:
  torch::nn::Embedding words_, positions_, types_;
  torch::nn::LayerNorm norm_;
};
TORCH_MODULE(BertEmbeddings);

// tanh(dense(row)), B x H of the sequences' first rows.  Key dense.
class BertPoolerImpl : public torch::nn::Module {
 public:
  explicit BertPoolerImpl(const BertConfig& config);
  torch::Tensor forward(const torch::Tensor& first_rows);

 private:
  torch::nn::Linear dense_;
};
TORCH_MODULE(BertPooler);

// B x L of 0 for real rows, kMaskedScore for padding.
torch::Tensor KeyBiasOf(const torch::Tensor& mask);

// Mean over the real rows, B x H.
torch::Tensor MaskedMean(const torch::Tensor& rows, const torch::Tensor& mask);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_MODELS_NETWORK_TRANSFORMER_H_
