#include "common/models/network/grid_extractor.h"

#include <torch/types.h>

#include <numeric>
#include <utility>

#include "absl/status/status.h"
#include "common/base/status_macros.h"
#include "common/device/pass_watch.h"
#include "common/embedding/embedding_matrix.h"
#include "common/image/decode.h"
#include "common/models/inference.h"
#include "common/models/inputs/manifest_checks.h"
#include "common/models/network/executor.h"
#include "common/models/network/pictures.h"
#include "common/models/network/tensor_gate.h"

namespace sightline {
namespace {

torch::nn::Conv2d Conv3x3(int64_t input, int64_t output, int64_t stride) {
  // No bias: the norm that follows has one.
  return torch::nn::Conv2d(
      torch::nn::Conv2dOptions(input, output, 3).stride(stride).padding(1).bias(false));
}

torch::nn::GroupNorm Norm(int64_t channels) {
  return torch::nn::GroupNorm(
      torch::nn::GroupNormOptions(std::gcd(int64_t{8}, channels), channels));
}

// Under mixed precision a convolution's output is bfloat16, which LibTorch 1.13's group norm
// does not take beside float32 weights; otherwise the cast does nothing.
torch::Tensor Normed(torch::nn::GroupNorm& norm, const torch::Tensor& x) {
  return norm(x.to(torch::kFloat32));
}

// LibTorch 1.13 leaves parts of gelu's gradient unset when the gradient that comes in has
// other strides than the output, as that of the transposed regions has.
torch::Tensor Gelu(const torch::Tensor& x) {
  const torch::Tensor y = torch::gelu(x);
  if (y.requires_grad()) {
    y.register_hook([](const torch::Tensor& gradient) { return gradient.contiguous(); });
  }
  return y;
}

template <typename Numbers>
torch::Tensor PerChannel(const Numbers& numbers) {
  return torch::tensor(std::vector<float>(numbers.begin(), numbers.end())).view({3, 1, 1});
}

class GridExtractor : public PictureExtractor {
 public:
  GridExtractor(GridNet net, const bundle::v1::GridExtractorSpec& spec, const TensorGate& gate,
                ComputePool* pool, std::shared_ptr<std::atomic<bool>> failed)
      : PictureExtractor(pool, std::move(failed)),
        net_(net.ptr()),
        gate_(gate),
        image_size_(spec.image_size()),
        boxes_(GridBoxes(GridSide(spec))) {
    net_->eval();
  }

  int64_t reduced_side() const override { return image_size_; }

 private:
  Pixels Reduced(Pixels image) const override {
    return ReducePicture(std::move(image), image_size_);
  }

  absl::Status ExtractOne(const Pixels& pixels, RegionSet* set,
                          std::vector<float>* /*soft_labels*/) const override {
    const device::PassScope pass(gate_.passes());
    const torch::Tensor picture = SquarePicture(pixels, image_size_, gate_).unsqueeze(0);
    const torch::Tensor rows = net_->forward(picture).squeeze(0);
    set->count = rows.size(0);
    set->feature_size = rows.size(1);
    set->features = TensorGate::Floats(rows);
    set->boxes = boxes_;
    if (!AllFinite(set->features)) {
      return absl::InternalError("the grid's features are not finite; are the weights sound?");
    }
    return absl::OkStatus();
  }

  const std::shared_ptr<GridNetImpl> net_;
  const TensorGate gate_;
  const int64_t image_size_;
  const std::vector<float> boxes_;
};

}  // namespace

GridBlockImpl::GridBlockImpl(int64_t channels)
    : conv1_(register_module("conv1", Conv3x3(channels, channels, 1))),
      conv2_(register_module("conv2", Conv3x3(channels, channels, 1))),
      norm1_(register_module("norm1", Norm(channels))),
      norm2_(register_module("norm2", Norm(channels))) {}

torch::Tensor GridBlockImpl::forward(const torch::Tensor& x) {
  return Gelu(x + Normed(norm2_, conv2_(Gelu(Normed(norm1_, conv1_(x))))));
}

GridStageNetImpl::GridStageNetImpl(int64_t input_channels, const bundle::v1::GridStage& spec)
    : conv_(register_module("conv", Conv3x3(input_channels, spec.channel_count(), 2))),
      norm_(register_module("norm", Norm(spec.channel_count()))),
      blocks_(register_module("block", torch::nn::ModuleList())) {
  for (int i = 0; i < spec.residual_block_count(); ++i) {
    blocks_->push_back(GridBlock(spec.channel_count()));
  }
}

torch::Tensor GridStageNetImpl::forward(const torch::Tensor& x) {
  torch::Tensor y = Gelu(Normed(norm_, conv_(x)));
  for (const std::shared_ptr<torch::nn::Module>& block : *blocks_) {
    y = block->as<GridBlockImpl>()->forward(y);
  }
  return y;
}

GridNetImpl::GridNetImpl(const bundle::v1::GridExtractorSpec& spec)
    : mean_(PerChannel(spec.mean())),
      deviation_(PerChannel(spec.standard_deviation())),
      stages_(register_module("stage", torch::nn::ModuleList())) {
  for (const bundle::v1::GridStage& stage : spec.stages()) {
    stages_->push_back(GridStageNet(feature_size_, stage));
    feature_size_ = stage.channel_count();
  }
}

torch::Tensor GridNetImpl::forward(const torch::Tensor& pictures) {
  torch::Tensor x = (pictures - mean_.to(pictures.device())) / deviation_.to(pictures.device());
  for (const std::shared_ptr<torch::nn::Module>& stage : *stages_) {
    x = stage->as<GridStageNetImpl>()->forward(x);
  }
  return x.flatten(2).transpose(1, 2);
}

std::vector<float> GridBoxes(int64_t side) {
  std::vector<float> boxes;
  boxes.reserve(side * side * 4);
  const float cells = static_cast<float>(side);
  for (int64_t y = 0; y < side; ++y) {
    for (int64_t x = 0; x < side; ++x) {
      boxes.insert(boxes.end(), {x / cells, y / cells, (x + 1) / cells, (y + 1) / cells});
    }
  }
  return boxes;
}

absl::StatusOr<std::unique_ptr<RegionExtractor>> NewGridExtractor(
    GridNet net, const bundle::v1::GridExtractorSpec& spec, const Execution& execution,
    ComputePool* pool) {
  ASSIGN_OR_RETURN(const TensorGate gate, TorchGateOf(execution));
  RETURN_IF_ERROR(RunGuarded("put the grid on its device", [&] {
    net->to(gate.device());
    return absl::OkStatus();
  }));
  return std::make_unique<GridExtractor>(std::move(net), spec, gate, pool, execution.failed);
}

}  // namespace sightline
