#include "common/training/scenes/region_net.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "common/scenes/scene_graph.h"
#include "common/training/scenes/region_classes.h"

namespace sightline {
namespace {

struct ConvShape {
  int64_t in, out, kernel, stride;
};

constexpr ConvShape kConvs[] = {
    {3, 32, 5, 2}, {32, 64, 3, 1}, {64, 96, 3, 2}, {96, 96, 3, 1}, {96, 112, 3, 2}};
constexpr int64_t kPooledSide = 2;
constexpr int64_t kBoxNumbers = 2;
constexpr int64_t kPooled = kConvs[4].out * kPooledSide * kPooledSide + kBoxNumbers;
// A box is a fifth of the canvas; among the pooled numbers it is to count as they do.
constexpr double kBoxScale = 4;

// What a norm does in evaluation mode: y = scale * x + shift, by channel.
struct ChannelMap {
  at::Tensor scale, shift;
};

template <typename Norm>
ChannelMap MapOf(const Norm& norm) {
  const at::Tensor scale = norm->weight / (norm->running_var + norm->options.eps()).sqrt();
  return {scale, norm->bias - norm->running_mean * scale};
}

// `norm` behind `from`, as one layer.
template <typename Layer, typename Norm>
void Fold(const Layer& from, const Norm& norm, const Layer& to) {
  const ChannelMap map = MapOf(norm);
  std::vector<int64_t> by_output(from->weight.dim(), 1);
  by_output[0] = -1;
  to->weight.copy_(from->weight * map.scale.view(by_output));
  to->bias.copy_(map.shift);
}

void Copy(const torch::nn::Linear& from, const torch::nn::Linear& to) {
  to->weight.copy_(from->weight);
  to->bias.copy_(from->bias);
}

}  // namespace

RegionNetImpl::RegionNetImpl(bool norms) {
  for (const ConvShape& shape : kConvs) {
    const size_t number = convs_.size() + 1;
    const auto options = torch::nn::Conv2dOptions(shape.in, shape.out, shape.kernel)
                             .stride(shape.stride)
                             .padding(shape.kernel / 2)
                             .bias(!norms);
    convs_.push_back(register_module(absl::StrCat("conv", number), torch::nn::Conv2d(options)));
    if (!norms) continue;
    norms_.push_back(
        register_module(absl::StrCat("norm", number), torch::nn::BatchNorm2d(shape.out)));
  }
  features_ = register_module(
      "features",
      torch::nn::Linear(torch::nn::LinearOptions(kPooled, kRegionFeatures).bias(!norms)));
  if (norms) feature_norm_ = register_module("norm", torch::nn::BatchNorm1d(kRegionFeatures));
  nouns_ = register_module("nouns", torch::nn::Linear(kRegionFeatures, kRegionClasses));
  tints_ = register_module("tints", torch::nn::Linear(kRegionFeatures, kTintCount));
  sizes_ = register_module("sizes", torch::nn::Linear(kRegionFeatures, kSizeCount));
}

RegionSight RegionNetImpl::forward(const torch::Tensor& crops, const torch::Tensor& boxes,
                                   double dropout) {
  at::Tensor x = crops.to(at::kFloat) / 127.5 - 1;
  for (size_t i = 0; i < convs_.size(); ++i) {
    x = convs_[i](x);
    if (!norms_.empty()) x = norms_[i](x);
    x = at::relu(x);
  }
  x = at::adaptive_avg_pool2d(x, {kPooledSide, kPooledSide}).flatten(1);
  x = features_(at::cat({x, boxes * kBoxScale}, 1));
  if (!feature_norm_.is_empty()) x = feature_norm_(x);
  RegionSight sight;
  sight.features = at::tanh(x);
  const at::Tensor seen = at::dropout(sight.features, dropout, is_training());
  sight.nouns = nouns_(seen);
  sight.tints = tints_(seen);
  sight.sizes = sizes_(seen);
  return sight;
}

RegionNet RegionNet::Folded() const {
  at::NoGradGuard no_grad;
  const RegionNetImpl& from = **this;
  RegionNet folded(/*norms=*/false);
  for (size_t i = 0; i < from.convs_.size(); ++i) {
    Fold(from.convs_[i], from.norms_[i], folded->convs_[i]);
  }
  Fold(from.features_, from.feature_norm_, folded->features_);
  Copy(from.nouns_, folded->nouns_);
  Copy(from.tints_, folded->tints_);
  Copy(from.sizes_, folded->sizes_);
  folded->eval();
  return folded;
}

}  // namespace sightline
