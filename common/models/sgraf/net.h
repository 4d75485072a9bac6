// SGRAF's network ("Similarity Reasoning and Filtration for Image-Text Matching", Diao et al.,
// 2021), with the published global node or T-EMDE's ("T-EMDE: Sketching-based global similarity
// for cross-modal retrieval", 2021) in its place.
//
// E is the embedding's width, S that of an alignment, R the number of regions, L of words, and
// l2n(x) = x / (|x| + 1e-8).
//
//   v_k = l2n(fc f_k)        t_j = l2n(mean of both directions of a GRU)
//   s = LeakyReLU_0.1(v_k t_j), l2n over words;  a = softmax_k(9 s);  c_j = l2n(sum_k a_jk v_k)
//   nodes: global, and l2n(W (c_j - t_j)^2) for each word
//   SGR: three times X <- ReLU(W softmax(Q K') X), then row 0
//   SAF: l2n(sum_i w_i x_i), w = l1n(sigmoid(BN(W x_i)))
//   score = sigmoid(w x)
//
// Batch norms use their running statistics; this module is not for training.
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

#include "common/bundle/model_bundle.h"

namespace sightline {

// A batch norm as it is after training: keys weight, bias, running_mean, running_var.
class FixedNormImpl : public torch::nn::Module {
 public:
  explicit FixedNormImpl(int64_t channels);
  // `shape` makes the channels' numbers broadcast over `x`.
  torch::Tensor forward(const torch::Tensor& x, torch::IntArrayRef shape);

 private:
  torch::Tensor weight_, bias_, mean_, variance_;
};
TORCH_MODULE(FixedNorm);

// What stands for a whole side: its rows' weighted sum, or their sketch.  One of these for
// each side; rows x E -> one vector.
class SgrafGlobalImpl : public torch::nn::Module {
 public:
  virtual torch::Tensor forward(const torch::Tensor& rows) = 0;
};

// Nodes, X of `count` pairs -> scores, count x 1; of a module of its own because the keys of a
// checkpoint's sim_enc depend on what is chosen.
class SgrafSimilarityImpl : public torch::nn::Module {
 public:
  explicit SgrafSimilarityImpl(const bundle::v1::SgrafSpec& spec);

  // Regions R x E and words L x E -> E, or with T-EMDE N K.
  torch::Tensor ImageGlobal(const torch::Tensor& regions) {
    return image_global_->forward(regions);
  }
  torch::Tensor TextGlobal(const torch::Tensor& words) { return text_global_->forward(words); }

  // n pairs with equally many words: regions n x R x E, words n x L x E, and what stands for
  // each side.  -> n x 1.
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
  FixedNorm attention_norm_{nullptr};
};

// Keys img_enc.fc.*, txt_enc.{embed,cap_rnn}.*, sim_enc.*.
class SgrafNetImpl : public torch::nn::Module {
 public:
  // `manifest` has been checked.
  explicit SgrafNetImpl(const bundle::v1::ModelBundleManifest& manifest);

  // R x region_feature_size -> R x E.
  torch::Tensor Regions(const torch::Tensor& features);
  // L ids -> L x E.
  torch::Tensor Words(const torch::Tensor& ids);
  SgrafSimilarityImpl& similarity() { return *similarity_; }

 private:
  torch::nn::Linear regions_{nullptr};
  torch::nn::Embedding words_{nullptr};
  torch::nn::GRU gru_{nullptr};
  std::shared_ptr<SgrafSimilarityImpl> similarity_;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_MODELS_SGRAF_NET_H_
