// The net that sees the regions of Sightline Scenes: a crop (common/scenes/region_crop.h) and how
// large its box is become 256 numbers, and these a noun or nothing, a tint and a size.
//
//   crop, 3 x 32 x 32, from -1 to 1
//   conv 5 x 5, 32, every 2nd  -> 16 x 16
//   conv 3 x 3, 64             -> 16 x 16
//   conv 3 x 3, 96, every 2nd  ->  8 x 8
//   conv 3 x 3, 96             ->  8 x 8
//   conv 3 x 3, 112, every 2nd ->  4 x 4
//   means of quarters          ->  2 x 2, 448 numbers, and 2 of the box
//   linear, tanh               -> 256 numbers, from -1 to 1
//   linear                     -> 144 nouns, 8 tints, 3 sizes
//
// A ReLU follows each convolution.  While it learns, batch norm (Ioffe and Szegedy, 2015) stands
// behind each convolution and the linear layer; Folded() makes it part of their weights.
//
// Includes torch: only .cc files of this folder and its tests include this.
#ifndef SIGHTLINE_COMMON_TRAINING_SCENES_REGION_NET_H_
#define SIGHTLINE_COMMON_TRAINING_SCENES_REGION_NET_H_

#include <torch/nn/module.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/pimpl.h>

#include <vector>

namespace sightline {

// Of a pass over N crops.
struct RegionSight {
  torch::Tensor features;  // N x kRegionFeatures, as files have them
  // Logits.
  torch::Tensor nouns;  // N x kRegionClasses
  torch::Tensor tints;  // N x kTintCount
  torch::Tensor sizes;  // N x kSizeCount
};

// Keys conv1 to conv5, features, nouns, tints, sizes, each .weight and .bias; with norms, norm1 to
// norm5 and norm of a batch norm each, behind layers without a bias.
class RegionNetImpl : public torch::nn::Module {
 public:
  explicit RegionNetImpl(bool norms);

  // `crops` are N x 3 x kRegionSide x kRegionSide bytes, or floats of their scale; `boxes` N x 2,
  // width and height of each box in canvases.  `dropout` of the features, on the way to the heads.
  RegionSight forward(const torch::Tensor& crops, const torch::Tensor& boxes, double dropout = 0);

 private:
  friend class RegionNet;

  std::vector<torch::nn::Conv2d> convs_;
  std::vector<torch::nn::BatchNorm2d> norms_;  // empty without norms
  torch::nn::Linear features_{nullptr}, nouns_{nullptr}, tints_{nullptr}, sizes_{nullptr};
  torch::nn::BatchNorm1d feature_norm_{nullptr};
};

class RegionNet : public torch::nn::ModuleHolder<RegionNetImpl> {
 public:
  using torch::nn::ModuleHolder<RegionNetImpl>::ModuleHolder;

  // A net without norms that gives what this one, which has them, gives in evaluation mode.
  RegionNet Folded() const;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_TRAINING_SCENES_REGION_NET_H_
