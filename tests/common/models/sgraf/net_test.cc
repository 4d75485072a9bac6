#include "common/models/sgraf/net.h"

#include <torch/nn/modules/batchnorm.h>
#include <torch/types.h>

#include <memory>
#include <vector>

#include "tests/common/models/sgraf/tiny.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

void RequireClose(const torch::Tensor& a, const torch::Tensor& b) {
  REQUIRE(a.sizes() == b.sizes());
  REQUIRE((a - b).abs().max().item<float>() < 1e-5);
}

TEST_CASE("a channel norm learns and serves as LibTorch's batch norm does") {
  torch::manual_seed(1);
  constexpr int64_t kChannels = 5;
  ChannelNorm norm(kChannels);
  torch::nn::BatchNorm1d reference(kChannels);
  {
    torch::NoGradGuard no_grad;
    for (const char* name : {"weight", "bias"}) {
      const torch::Tensor value = torch::rand({kChannels}) + 0.5;
      norm->named_parameters()[name].copy_(value);
      reference->named_parameters()[name].copy_(value);
    }
  }
  const auto require_same = [&] {
    const torch::Tensor x = torch::randn({7, kChannels, 3}) * 2 + 1;
    torch::Tensor ours = x.clone().set_requires_grad(true);
    torch::Tensor theirs = x.clone().set_requires_grad(true);
    // Channels in the middle, as theirs must be, and at the end.
    RequireClose(norm->forward(ours.transpose(1, 2), 2).transpose(1, 2), reference(theirs));
    const torch::Tensor weights = torch::randn(x.sizes());
    (norm->forward(ours, 1) * weights).sum().backward();
    (reference(theirs) * weights).sum().backward();
    RequireClose(ours.grad(), theirs.grad());
    RequireClose(norm->named_buffers()["running_mean"], reference->running_mean);
    RequireClose(norm->named_buffers()["running_var"], reference->running_var);
  };
  for (int step = 0; step < 3; ++step) require_same();
  const torch::Tensor mean = norm->named_buffers()["running_mean"].clone();
  REQUIRE(mean.abs().max().item<float>() > 0.1);
  norm->eval();
  reference->eval();
  require_same();
  REQUIRE(torch::equal(norm->named_buffers()["running_mean"], mean));
}

TEST_CASE("a single number a channel moves no running statistics") {
  ChannelNorm norm(2);
  norm->forward(torch::tensor({{3.0F, 4.0F}}), 1);
  RequireClose(norm->named_buffers()["running_var"], torch::ones({2}));
  RequireClose(norm->named_buffers()["running_mean"], torch::zeros({2}));
}

TEST_CASE("what stands for items together is what stands for each alone, once learnt") {
  for (const TinyFamily& family : sgraf::TinyOnes()) {
    INFO(family.name);
    torch::manual_seed(2);
    const auto net = std::make_shared<SgrafNetImpl>(family.manifest);
    net->eval();
    const torch::NoGradGuard no_grad;
    const int64_t width = family.manifest.sgraf().embedding_size();
    const std::vector<int64_t> lengths = {3, 3, 1, 4};
    const torch::Tensor words = torch::randn({11, width});
    const torch::Tensor together = net->similarity().TextGlobals(words, lengths);
    int64_t begin = 0;
    for (size_t i = 0; i < lengths.size(); ++i) {
      const torch::Tensor own = words.narrow(0, begin, lengths[i]);
      RequireClose(net->similarity().TextGlobals(own, {lengths[i]})[0], together[i]);
      begin += lengths[i];
    }
  }
}

TEST_CASE("an image's statistics are the batch's while they are learnt") {
  const TinyFamily family = sgraf::TinyOnes()[0];
  const auto net = std::make_shared<SgrafNetImpl>(family.manifest);
  const bundle::v1::SgrafSpec& spec = family.manifest.sgraf();
  const auto globals = [&](const torch::Tensor& regions, int64_t count) {
    return net->similarity().ImageGlobals(regions,
                                          std::vector<int64_t>(count, spec.region_count()));
  };
  for (const auto& module : net->modules()) {
    if (auto* dropout = module->as<torch::nn::DropoutImpl>()) dropout->options.p(0);
  }
  const torch::Tensor regions = torch::randn({3 * spec.region_count(), spec.embedding_size()});
  const torch::Tensor all = globals(regions, 3);
  const torch::Tensor two = globals(regions.narrow(0, 0, 2 * spec.region_count()), 2);
  REQUIRE((all.narrow(0, 0, 2) - two).abs().max().item<float>() > 1e-4);
}

}  // namespace
}  // namespace sightline
