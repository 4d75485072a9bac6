// SGRAF's network ("Similarity Reasoning and Filtration for Image-Text Matching", Diao et al.,
// 2021), with the published global node or T-EMDE's ("T-EMDE: Sketching-based global similarity
// for cross-modal retrieval", 2021) in its place.
//
// E is the embedding's width, S that of an alignment, R the number of regions, L of words, and
// l2n(x) = x / (|x| + 1e-8).
//
//   v_k = l2n(fc f_k)        t_j = l2n(mean of both directions of a GRU)
//   s = LeakyReLU_0.1(v_k t_j), l2n over words;  a = softmax_k(9 s);  c_j = l2n(sum_k a_jk v_k)
//   nodes: global, unless there is none, and l2n(W (c_j - t_j)^2) for each word
//   SGR: three times X <- ReLU(W softmax(Q K') X), then row 0
//   SAF: l2n(sum_i w_i x_i), w = l1n(sigmoid(BN(W x_i)))
//   score = sigmoid(w x)
//
// Of a batch of images or texts the global parts are computed together, since their norms look at
// a batch when they learn.  Dropout 0.4 of word embeddings and of what the attention of the global
// node sees is the released code's.
//
// Includes torch: only .cc files of common/models include this.
#ifndef SIGHTLINE_COMMON_MODELS_SGRAF_NET_H_
#define SIGHTLINE_COMMON_MODELS_SGRAF_NET_H_

#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/rnn.h>
#include <torch/nn/pimpl.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "common/bundle/model_bundle.h"
#include "common/models/network/row_dropout.h"

namespace sightline {

// A batch norm: keys weight, bias, running_mean, running_var.  In training mode it norms by the
// batch, whose statistics move the running ones (a tenth of the way, as torch.nn.BatchNorm1d
// does); else by the running ones.
class ChannelNormImpl : public torch::nn::Module {
 public:
  explicit ChannelNormImpl(int64_t channels);
  // Channels are dimension `dim` of `x`; all others are the batch.
  torch::Tensor forward(const torch::Tensor& x, int64_t dim);

 private:
  // Moves the running statistics towards those of a batch of `count` numbers a channel.
  void Follow(const torch::Tensor& mean, const torch::Tensor& variance, int64_t count);

  torch::Tensor weight_, bias_, mean_, variance_;
};
TORCH_MODULE(ChannelNorm);

// What stands for a whole side: its rows' weighted sum, or their sketch.  One of these for
// each side.
class SgrafGlobalImpl : public torch::nn::Module {
 public:
  // Rows of B images or texts, one after another, T x E -> B vectors.
  virtual torch::Tensor forward(const torch::Tensor& rows, const std::vector<int64_t>& lengths) = 0;
};

// Nodes, X of `count` pairs -> scores, count x 1; of a module of its own because the keys of a
// checkpoint's sim_enc depend on what is chosen.
class SgrafSimilarityImpl : public torch::nn::Module {
 public:
  explicit SgrafSimilarityImpl(const bundle::v1::SgrafSpec& spec);

  // Whether a node stands for the whole, so that there is something to be computed here.
  bool has_global_node() const { return image_global_ != nullptr; }

  // Regions or words of B items, one after another, T x E -> B x E, or with T-EMDE B x N K.
  // REQUIRES: a global node.
  torch::Tensor ImageGlobals(const torch::Tensor& regions, const std::vector<int64_t>& lengths) {
    return image_global_->forward(regions, lengths);
  }
  torch::Tensor TextGlobals(const torch::Tensor& words, const std::vector<int64_t>& lengths) {
    return text_global_->forward(words, lengths);
  }

  // n pairs with equally many words: regions n x R x E, words n x L x E, and what stands for each
  // side, of which nothing is read without a global node.  Where all are with one text, words are
  // 1 x L x E and what stands for it 1 x E or 1 x N K.  -> n x 1.
  torch::Tensor Score(const torch::Tensor& regions, const torch::Tensor& image_global,
                      const torch::Tensor& words, const torch::Tensor& text_global);

 private:
  torch::Tensor GlobalNode(const torch::Tensor& image_global, const torch::Tensor& text_global);
  torch::Tensor Reason(torch::Tensor nodes);
  torch::Tensor Filter(const torch::Tensor& nodes);

  // One step of graph reasoning.
  struct Step {
    torch::nn::Linear query, key, graph;
  };

  const bool is_emde_;
  std::shared_ptr<SgrafGlobalImpl> image_global_, text_global_;
  torch::nn::Linear local_{nullptr}, global_{nullptr}, fuse_{nullptr}, evaluate_{nullptr};
  std::vector<Step> steps_;               // SGR
  torch::nn::Linear attention_{nullptr};  // SAF
  ChannelNorm attention_norm_{nullptr};
};

// Keys img_enc.fc.*, txt_enc.{embed,cap_rnn}.*, sim_enc.*.
class SgrafNetImpl : public torch::nn::Module {
 public:
  // `manifest` has been checked.
  explicit SgrafNetImpl(const bundle::v1::ModelBundleManifest& manifest);

  // T x region_feature_size -> T x E.
  torch::Tensor Regions(const torch::Tensor& features);
  // Of texts of these lengths, one after another: T ids -> T x E.
  torch::Tensor Words(const torch::Tensor& ids, const std::vector<int64_t>& lengths);
  SgrafSimilarityImpl& similarity() { return *similarity_; }

 private:
  torch::nn::Linear regions_{nullptr};
  torch::nn::Embedding words_{nullptr};
  RowDropout word_dropout_{nullptr};
  torch::nn::GRU gru_{nullptr};
  std::shared_ptr<SgrafSimilarityImpl> similarity_;
};

// Weights as training starts from in the papers: of linear layers uniform within sqrt(6 / (in +
// out)) ("Understanding the difficulty of training deep feedforward neural networks", Glorot and
// Bengio, 2010) without biases, of word embeddings uniform within 0.1.  What they do not say is as
// LibTorch has it, of the GRU uniform within 1 / sqrt(E), or as RandomizeWeights: norms that do
// nothing yet, centroids of N(0, 1).  Equal seeds give equal weights.
absl::Status RandomizeSgraf(uint64_t seed, SgrafNetImpl* net);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_MODELS_SGRAF_NET_H_
