// What predicts masked words and regions of a tower's last layer: the heads of UNITER's and
// LightningDOT's pre-training, with the parameter names of their checkpoints.
//
//   words            cls.predictions.transform.{dense,LayerNorm}.*, cls.predictions.bias
//   regions' numbers feat_regress.net.{0,2}.*, feat_regress.bias
//   regions' classes region_classifier.net.{0,2,3}.*
//
// And what a hidden region shows in place of its feature, mask_embedding.weight: row 1 of the
// checkpoints' img_embeddings.mask_embedding, whose row 0 is zero.
//
// The first two end in a product with a table of the network's own: the word embeddings, and the
// weight of the layer that reads regions' features.  They are given to forward() and are no
// parameters here, so that an optimiser sees them once; in files they stand a second time, as
// cls.predictions.decoder.weight and feat_regress.weight.
//
// Includes torch: only .cc files of common/training and its tests include this.
#ifndef SIGHTLINE_COMMON_TRAINING_OBJECTIVES_HEADS_H_
#define SIGHTLINE_COMMON_TRAINING_OBJECTIVES_HEADS_H_

#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/normalization.h>
#include <torch/nn/pimpl.h>

#include <cstdint>
#include <vector>

#include "common/models/network/transformer.h"
#include "common/training/objectives/masking.h"

namespace sightline {

// Masked rows of the last layer, N x H, of which row n is of items[n], each with `vectors`[item],
// B x H: the other tower's [CLS] row, before any projection.  Not for kNone.
torch::Tensor WithOtherTower(const torch::Tensor& rows, const std::vector<int64_t>& items,
                             const torch::Tensor& vectors, GlobalVector how);

// N x H -> N x V: LN(gelu(W x + b)) E' + b', where E is the V x H table of word embeddings.
// Keys predictions.transform.dense, predictions.transform.LayerNorm, predictions.bias.
class MaskedTokenHeadImpl : public torch::nn::Module {
 public:
  explicit MaskedTokenHeadImpl(const BertConfig& config);
  torch::Tensor forward(const torch::Tensor& rows, const torch::Tensor& word_table);

 private:
  torch::nn::Linear dense_{nullptr};
  torch::nn::LayerNorm norm_{nullptr};
  torch::Tensor bias_;
};
TORCH_MODULE(MaskedTokenHead);

// N x H -> N x F: LN(gelu(W x + b)) R + b', where R is the H x F weight of the layer that makes
// rows of features.  Keys net.0, net.2, bias.
class RegionFeatureHeadImpl : public torch::nn::Module {
 public:
  RegionFeatureHeadImpl(const BertConfig& config, int64_t feature_size);
  torch::Tensor forward(const torch::Tensor& rows, const torch::Tensor& region_weight);

 private:
  torch::nn::Sequential net_;
  torch::Tensor bias_;
};
TORCH_MODULE(RegionFeatureHead);

// N x H -> N x K: W' LN(gelu(W x + b)) + b'.  Keys net.0, net.2, net.3.
class RegionClassHeadImpl : public torch::nn::Module {
 public:
  RegionClassHeadImpl(const BertConfig& config, int64_t class_count);
  torch::Tensor forward(const torch::Tensor& rows);

 private:
  torch::nn::Sequential net_;
};
TORCH_MODULE(RegionClassHead);

struct HeadChoice {
  bool tokens = false;
  bool features = false;
  int64_t class_count = 0;   // the background counts; 0: no head of classes
  int64_t feature_size = 0;  // of a region

  bool of_regions() const { return features || class_count > 0; }
  bool any() const { return tokens || of_regions(); }
};

// Those that are chosen, under their names: cls.*, feat_regress.*, region_classifier.*; and
// mask_embedding.* where regions are hidden.
class PretrainingHeadsImpl : public torch::nn::Module {
 public:
  PretrainingHeadsImpl(const BertConfig& config, const HeadChoice& choice);

  // REQUIRES: that it was chosen.
  MaskedTokenHeadImpl& tokens() { return *tokens_; }
  RegionFeatureHeadImpl& features() { return *features_; }
  RegionClassHeadImpl& classes() { return *classes_; }
  // What a hidden region shows, F numbers; undefined where none is.
  torch::Tensor hidden_feature() const {
    return mask_ ? mask_->weight.select(0, 0) : torch::Tensor();
  }

 private:
  MaskedTokenHead tokens_{nullptr};
  RegionFeatureHead features_{nullptr};
  RegionClassHead classes_{nullptr};
  torch::nn::Embedding mask_{nullptr};
};
TORCH_MODULE(PretrainingHeads);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_TRAINING_OBJECTIVES_HEADS_H_
