// Pixels to regions by a small convolutional stem, trained together with the model that
// reads them.
//
// A picture is laid on a white square, its longer side filling it: shapes keep their
// proportions, and the margin looks like the white that transparency is composed on.
// Then R, G and B are scaled to [0, 1], mean subtracted, divided by the standard
// deviation, and pass the stages
//
//   x = gelu(GN(conv3x3 stride 2 (x)))
//   x = gelu(x + GN(conv3x3(gelu(GN(conv3x3(x))))))      per residual block
//
// whose last output, C x g x g, is read as g * g regions of C features, row by row.  The
// norm is group norm (gcd(8, C) groups, eps 1e-5): it looks at one picture only, so
// nothing depends on batch mates, in training as in serving.
//
// Includes torch: only .cc files of common/models and common/training include this.
#ifndef SIGHTLINE_COMMON_MODELS_NETWORK_GRID_EXTRACTOR_H_
#define SIGHTLINE_COMMON_MODELS_NETWORK_GRID_EXTRACTOR_H_

#include <torch/nn/modules/container/modulelist.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/normalization.h>
#include <torch/nn/pimpl.h>

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/compute_pool.h"
#include "common/image/image_input.h"
#include "common/models/execution.h"
#include "sightline/bundle/v1/model_bundle.pb.h"

namespace sightline {

// Keys conv1, norm1, conv2, norm2.
class GridBlockImpl : public torch::nn::Module {
 public:
  explicit GridBlockImpl(int64_t channels);
  torch::Tensor forward(const torch::Tensor& x);

 private:
  torch::nn::Conv2d conv1_, conv2_;
  torch::nn::GroupNorm norm1_, norm2_;
};
TORCH_MODULE(GridBlock);

// Keys conv, norm, block.N.*.
class GridStageNetImpl : public torch::nn::Module {
 public:
  GridStageNetImpl(int64_t input_channels, const bundle::v1::GridStage& spec);
  torch::Tensor forward(const torch::Tensor& x);

 private:
  torch::nn::Conv2d conv_;
  torch::nn::GroupNorm norm_;
  torch::nn::ModuleList blocks_;
};
TORCH_MODULE(GridStageNet);

// Keys stage.N.*.
class GridNetImpl : public torch::nn::Module {
 public:
  // `spec` has passed CheckGridExtractor.
  explicit GridNetImpl(const bundle::v1::GridExtractorSpec& spec);

  // B x 3 x S x S pictures on a scale of 0 to 1 (see pictures.h) -> B x g*g x C.
  torch::Tensor forward(const torch::Tensor& pictures);

  // Features of a region, C.
  int64_t feature_size() const { return feature_size_; }

 private:
  const torch::Tensor mean_, deviation_;  // 3 x 1 x 1; constants, not weights
  int64_t feature_size_ = 3;
  torch::nn::ModuleList stages_;
};
TORCH_MODULE(GridNet);

// Boxes of the cells of a g x g grid, row by row, relative to the square.
std::vector<float> GridBoxes(int64_t side);

// Runs `net`, one picture a pass, so that a region set is bit for bit the same whatever
// it was extracted beside.  `pool` may be null and must outlive the extractor; puts `net` where
// LibTorch computes by `execution` (TorchGateOf), which is where pictures are resized too, and into
// evaluation mode.  ResourceExhausted where there is no room for it.
absl::StatusOr<std::unique_ptr<RegionExtractor>> NewGridExtractor(
    GridNet net, const bundle::v1::GridExtractorSpec& spec, const Execution& execution,
    ComputePool* pool);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_MODELS_NETWORK_GRID_EXTRACTOR_H_
