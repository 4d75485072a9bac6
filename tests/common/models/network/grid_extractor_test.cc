#include "common/models/network/grid_extractor.h"

#include <torch/types.h>

#include <cmath>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "common/image/decode.h"
#include "common/models/network/pictures.h"
#include "tests/common/models/tiny_model.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

bundle::v1::GridExtractorSpec Spec() {
  bundle::v1::GridExtractorSpec spec = TinyManifest().grid_extractor();
  spec.mutable_stages(1)->set_residual_block_count(1);
  return spec;
}

GridNet MakeNet() {
  torch::manual_seed(7);
  GridNet net(Spec());
  torch::NoGradGuard no_grad;
  for (torch::Tensor& parameter : net->parameters()) parameter.normal_(0.2, 0.3);
  return net;
}

// Channels of height x width.
using Planes = std::vector<std::vector<std::vector<double>>>;

// The referee: convolution, norm and GELU as loops.
class Referee {
 public:
  explicit Referee(const torch::nn::Module& net) {
    for (const auto& item : net.named_parameters()) parameters_[item.key()] = item.value();
  }

  Planes Conv(const Planes& x, const std::string& name, int stride) const {
    const torch::Tensor kernel = parameters_.at(name + ".weight");
    const int height = x[0].size() / stride, width = x[0][0].size() / stride;
    Planes y(kernel.size(0), {static_cast<size_t>(height), std::vector<double>(width)});
    for (int o = 0; o < kernel.size(0); ++o) {
      for (int r = 0; r < height; ++r) {
        for (int c = 0; c < width; ++c) {
          for (int k = 0; k < 9 * static_cast<int>(x.size()); ++k) {
            const int in = k / 9, dr = k % 9 / 3, dc = k % 3;
            const int row = r * stride + dr - 1, column = c * stride + dc - 1;
            if (row < 0 || column < 0 || row >= static_cast<int>(x[0].size()) ||
                column >= static_cast<int>(x[0][0].size())) {
              continue;
            }
            y[o][r][c] += kernel[o][in][dr][dc].item<float>() * x[in][row][column];
          }
        }
      }
    }
    return y;
  }

  Planes Norm(Planes x, const std::string& name) const {
    const size_t groups = std::gcd<size_t>(8, x.size()), size = x.size() / groups;
    for (size_t g = 0; g < groups; ++g) {
      double sum = 0, squares = 0, count = 0;
      for (size_t c = g * size; c < (g + 1) * size; ++c) {
        for (const auto& row : x[c]) {
          for (double v : row) sum += v, squares += v * v, ++count;
        }
      }
      const double mean = sum / count, variance = squares / count - mean * mean;
      for (size_t c = g * size; c < (g + 1) * size; ++c) {
        for (auto& row : x[c]) {
          for (double& v : row) {
            v = (v - mean) / std::sqrt(variance + 1e-5) *
                    parameters_.at(name + ".weight")[c].item<float>() +
                parameters_.at(name + ".bias")[c].item<float>();
          }
        }
      }
    }
    return x;
  }

 private:
  std::map<std::string, torch::Tensor> parameters_;
};

template <typename F>
Planes Each(Planes x, const F& f) {
  for (size_t c = 0; c < x.size(); ++c) {
    for (size_t r = 0; r < x[c].size(); ++r) {
      for (size_t i = 0; i < x[c][r].size(); ++i) x[c][r][i] = f(x[c][r][i], c, r, i);
    }
  }
  return x;
}

Planes Gelu(const Planes& x) {
  return Each(x,
              [](double v, int, int, int) { return 0.5 * v * (1 + std::erf(v / std::sqrt(2.0))); });
}

TEST_CASE("the grid network equals convolutions in plain loops") {
  GridNet net = MakeNet();
  const Referee referee(*net);
  const torch::Tensor picture = torch::rand({3, 24, 24});
  const bundle::v1::GridExtractorSpec spec = Spec();
  Planes x(3, {24, std::vector<double>(24)});
  x = Each(x, [&](double, int c, int r, int i) {
    return (picture[c][r][i].item<float>() - spec.mean(c)) / spec.standard_deviation(c);
  });
  for (int stage = 0; stage < 3; ++stage) {
    const std::string name = "stage." + std::to_string(stage) + ".";
    x = Gelu(referee.Norm(referee.Conv(x, name + "conv", 2), name + "norm"));
    if (spec.stages(stage).residual_block_count() == 0) continue;
    const std::string block = name + "block.0.";
    Planes y = Gelu(referee.Norm(referee.Conv(x, block + "conv1", 1), block + "norm1"));
    y = referee.Norm(referee.Conv(y, block + "conv2", 1), block + "norm2");
    x = Gelu(Each(y, [&](double v, int c, int r, int i) { return v + x[c][r][i]; }));
  }
  const torch::Tensor rows = net(picture.unsqueeze(0))[0];
  REQUIRE(rows.size(0) == 9);
  REQUIRE(rows.size(1) == 10);
  for (int c = 0; c < 10; ++c) {
    for (int cell = 0; cell < 9; ++cell) {
      REQUIRE(rows[cell][c].item<float>() == Approx(x[c][cell / 3][cell % 3]).margin(1e-4));
    }
  }
}

TEST_CASE("a region set is bit for bit the same alone, in a batch and on any pool") {
  const GridNet net = MakeNet();
  ComputePool pool(3);
  std::vector<Pixels> pictures;
  for (uint32_t i = 0; i < 7; ++i) pictures.push_back(RandomPixels(10 + 13 * i, 40, i));
  const CallContext call = CallContext::Unbounded();
  const auto batch = (*NewGridExtractor(net, Spec(), Execution(), &pool))->Extract(pictures, call);
  REQUIRE(batch.ok());
  for (size_t i = 0; i < pictures.size(); ++i) {
    const auto extractor = *NewGridExtractor(net, Spec(), Execution(), nullptr);
    const auto alone = extractor->Extract({pictures[i]}, call);
    REQUIRE(alone.ok());
    REQUIRE((*alone)[0].count == 9);
    REQUIRE((*alone)[0].feature_size == 10);
    REQUIRE((*alone)[0].features == (*batch)[i].features);
    REQUIRE((*alone)[0].boxes == (*batch)[i].boxes);
  }
}

TEST_CASE("boxes are those of the cells, row by row") {
  REQUIRE(GridBoxes(2) == std::vector<float>{0, 0, 0.5f, 0.5f, 0.5f, 0, 1, 0.5f,  //
                                             0, 0.5f, 0.5f, 1, 0.5f, 0.5f, 1, 1});
}

Pixels Filled(int width, int height, uint8_t value) {
  return {width, height, std::vector<uint8_t>(size_t{3} * width * height, value)};
}

TEST_CASE("a picture keeps its proportions on white") {
  for (const auto& [width, height] : {std::pair(200, 100), std::pair(20, 10)}) {
    const torch::Tensor wide = SquarePicture(Filled(width, height, 0), 24);
    REQUIRE(wide.sizes() == torch::IntArrayRef({3, 24, 24}));
    REQUIRE(wide.narrow(1, 0, 6).eq(1).all().item<bool>());
    REQUIRE(wide.narrow(1, 6, 12).abs().max().item<float>() < 1e-5);
    REQUIRE(wide.narrow(1, 18, 6).eq(1).all().item<bool>());
    const torch::Tensor tall = SquarePicture(Filled(height, width, 0), 24);
    REQUIRE(torch::equal(tall, wide.transpose(1, 2)));
  }
}

TEST_CASE("a picture of the final size is only scaled to 0..1") {
  const Pixels pixels = RandomPixels(24, 24, 3);
  const torch::Tensor square = SquarePicture(pixels, 24);
  for (int c = 0; c < 3; ++c) {
    REQUIRE(square[c][5][11].item<float>() ==
            Approx(pixels.rgb[(5 * 24 + 11) * 3 + c] / 255.0).margin(1e-6));
  }
}

TEST_CASE("shrinking a giant first gives nearly what resizing alone gives") {
  // A smooth ramp, 32 times the final side: shrunk by 8 or so, then resized.
  Pixels ramp = Filled(768, 768, 0);
  for (int y = 0; y < 768; ++y) {
    for (int x = 0; x < 768; ++x) {
      for (int c = 0; c < 3; ++c) ramp.rgb[(y * 768 + x) * 3 + c] = (x + y) / 6;
    }
  }
  const torch::Tensor square = SquarePicture(ramp, 24);
  REQUIRE(square[0][12][12].item<float>() == Approx(12.5 * 32 * 2 / 6 / 255).margin(0.01));
  REQUIRE(square[1][3][20].item<float>() == Approx((3.5 + 20.5) * 32 / 6 / 255).margin(0.01));
}

TEST_CASE("very long and very small pictures have at least one pixel across") {
  for (const auto& [width, height] : {std::pair(5000, 1), std::pair(1, 5000), std::pair(1, 1),
                                      std::pair(3000, 7), std::pair(4097, 4099)}) {
    const torch::Tensor square = SquarePicture(Filled(width, height, 128), 24);
    REQUIRE(square.isfinite().all().item<bool>());
    REQUIRE(square.lt(0.9).any().item<bool>());
  }
}

TEST_CASE("pictures without pixels or with lying sizes are refused") {
  const auto extractor = *NewGridExtractor(MakeNet(), Spec(), Execution(), nullptr);
  const CallContext call = CallContext::Unbounded();
  Pixels cut = Filled(5, 5, 1);
  cut.rgb.pop_back();
  for (const Pixels& bad :
       {Pixels(), Pixels{-3, -3, std::vector<uint8_t>(27)}, cut, Pixels{1 << 30, 1 << 30, {}}}) {
    const auto result = extractor->Extract({Filled(5, 5, 1), bad}, call);
    REQUIRE(absl::IsInvalidArgument(result.status()));
    REQUIRE(result.status().message().find("image 1") != absl::string_view::npos);
  }
  REQUIRE(extractor->Extract({}, call)->empty());
}

// LibTorch 1.13 is not to be trusted here: see Gelu in grid_extractor.cc.
TEST_CASE("gradients of the grid's weights are those that finite differences give") {
  GridNet net = MakeNet();
  torch::manual_seed(3);
  const torch::Tensor pictures = torch::rand({2, 3, 16, 16});
  const torch::Tensor weights = torch::randn(net->forward(pictures).sizes());
  // Read as the transformer reads it: beside other rows, so that the gradient comes back
  // with the strides of the transposed regions.
  const auto loss = [&] {
    const torch::Tensor regions = net->forward(pictures);
    return (torch::cat({regions.narrow(1, 0, 1), regions}, 1).narrow(1, 1, regions.size(1)) *
            weights)
        .sum();
  };
  loss().backward();
  const double step = 1e-2;
  torch::NoGradGuard no_grad;
  for (const auto& item : net->named_parameters()) {
    torch::Tensor values = item.value().view(-1);
    const torch::Tensor gradient = item.value().grad().contiguous().view(-1);
    const double scale = gradient.abs().max().item<double>();
    for (const int64_t at : {int64_t{0}, values.numel() / 2, values.numel() - 1}) {
      const double value = values[at].item<double>();
      values[at] = value + step;
      const double above = loss().item<double>();
      values[at] = value - step;
      const double below = loss().item<double>();
      values[at] = value;
      CAPTURE(item.key(), at);
      REQUIRE(gradient[at].item<double>() ==
              Approx((above - below) / (2 * step)).margin(0.02 * scale + 2e-3));
    }
  }
}

TEST_CASE("reducing a picture first changes nothing, and reducing it twice neither") {
  for (const auto& [width, height] :
       std::vector<std::pair<int, int>>{{24, 24}, {200, 150}, {997, 3}, {501, 499}, {1200, 90}}) {
    Pixels pixels = Filled(width, height, 0);
    for (size_t i = 0; i < pixels.rgb.size(); ++i) pixels.rgb[i] = static_cast<uint8_t>(i * 7);
    const Pixels once = ReducePicture(pixels, 24);
    const Pixels twice = ReducePicture(once, 24);
    REQUIRE(once.width == twice.width);
    REQUIRE(once.rgb == twice.rgb);
    REQUIRE(torch::equal(SquarePicture(pixels, 24), SquarePicture(once, 24)));
    REQUIRE(std::max(once.width, once.height) <= std::max(4 * 24 + 4, 4 * width / height));
  }
}

}  // namespace
}  // namespace sightline
