#include "common/models/network/weights.h"

#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/normalization.h>
#include <torch/types.h>

#include <limits>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

struct Net : torch::nn::Module {
  Net() {
    register_module("conv", torch::nn::Conv2d(torch::nn::Conv2dOptions(64, 32, 3)));
    // More numbers than are converted at once.
    register_module("dense", torch::nn::Linear(64, 1100));
    register_module("norm", torch::nn::LayerNorm(torch::nn::LayerNormOptions({64})));
    steps = register_buffer("steps", torch::zeros({}, torch::kInt64));
  }
  torch::Tensor steps;
};

template <typename T>
std::string Bytes(const std::vector<T>& values) {
  return std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

// A tensor of a file in the making.
struct Entry {
  TensorDtype dtype;
  std::vector<int64_t> shape;
  std::string bytes;
};

std::string File(const std::map<std::string, Entry>& entries) {
  std::map<std::string, TensorView> views;
  for (const auto& [name, entry] : entries) {
    views[name] = {entry.dtype, entry.shape, entry.bytes};
  }
  return SerializeSafetensors(views);
}

absl::Status Load(const std::string& bytes, const std::vector<std::string>& ignored,
                  torch::nn::Module* module) {
  auto file = Safetensors::FromBytes(bytes);
  REQUIRE(file.ok());
  return LoadWeights(**file, ignored, module);
}

TEST_CASE("all float types are read as float32, all integers as int64") {
  const std::vector<std::pair<TensorDtype, std::string>> halves = {
      {TensorDtype::kF64, Bytes<double>({1.5, -2})},
      {TensorDtype::kF32, Bytes<float>({1.5f, -2})},
      {TensorDtype::kF16, Bytes<uint16_t>({0x3e00, 0xc000})},
      {TensorDtype::kBf16, Bytes<uint16_t>({0x3fc0, 0xc000})},
  };
  for (const auto& [dtype, bytes] : halves) {
    const auto tensor = ToTorch({dtype, {2}, bytes});
    REQUIRE(tensor.ok());
    REQUIRE(torch::equal(*tensor, torch::tensor({1.5f, -2.f})));
  }
  const std::string small = Bytes<int16_t>({7, -3});
  REQUIRE(torch::equal(*ToTorch({TensorDtype::kI16, {2, 1}, small}),
                       torch::tensor({{7}, {-3}}, torch::kInt64)));
  const std::string flag("\x01", 1);
  REQUIRE(ToTorch({TensorDtype::kBool, {}, flag})->item<int64_t>() == 1);
}

TEST_CASE("weights that are stored and loaded are the same") {
  Net from, to;
  REQUIRE(RandomizeWeights(5, &from).ok());
  from.steps.fill_(41);
  auto bytes = SerializeWeights(from, WeightDtype::kFloat32);
  REQUIRE(bytes.ok());
  REQUIRE(Load(*bytes, {}, &to).ok());
  for (const auto& item : from.named_parameters()) {
    REQUIRE(torch::equal(item.value(), to.named_parameters()[item.key()]));
  }
  REQUIRE(to.steps.item<int64_t>() == 41);
}

TEST_CASE("float16 halves the file and rounds weights by one part in 2048 at most") {
  Net from, to;
  REQUIRE(RandomizeWeights(5, &from).ok());
  const std::string half = *SerializeWeights(from, WeightDtype::kFloat16);
  const std::string whole = *SerializeWeights(from, WeightDtype::kFloat32);
  REQUIRE(half.size() < 0.55 * whole.size());
  REQUIRE(Load(half, {}, &to).ok());
  const torch::Tensor a = from.named_parameters()["dense.weight"];
  const torch::Tensor b = to.named_parameters()["dense.weight"];
  REQUIRE(((a - b).abs() <= a.abs() / 2048 + 1e-7).all().item<bool>());
}

TEST_CASE("a weight too large for float16 is refused by name") {
  Net net;
  torch::NoGradGuard no_grad;
  net.named_parameters()["norm.bias"].fill_(1e6);
  const absl::Status status = SerializeWeights(net, WeightDtype::kFloat16).status();
  REQUIRE(absl::IsInvalidArgument(status));
  REQUIRE(absl::StrContains(status.message(), "norm.bias"));
}

TEST_CASE("all that does not fit is named at once, and nothing is loaded") {
  torch::nn::LayerNorm norm(torch::nn::LayerNormOptions({2}));
  torch::nn::Linear dense(2, 1);
  torch::nn::Module net;
  net.register_module("norm", norm);
  net.register_module("dense", dense);
  const std::string bytes = File({
      {"norm.weight", {TensorDtype::kF32, {2}, Bytes<float>({5, 6})}},
      {"norm.bias", {TensorDtype::kI32, {2}, Bytes<int32_t>({5, 6})}},
      {"dense.weight", {TensorDtype::kF32, {2, 1}, Bytes<float>({5, 6})}},
      {"extra", {TensorDtype::kF32, {1}, Bytes<float>({5})}},
      {"cls.head", {TensorDtype::kF32, {1}, Bytes<float>({5})}},
  });
  const absl::Status status = Load(bytes, {"cls."}, &net);
  REQUIRE(absl::IsInvalidArgument(status));
  INFO(status.message());
  REQUIRE(absl::StrContains(status.message(), "missing: dense.bias [1]"));
  REQUIRE(absl::StrContains(status.message(), "unexpected: extra;"));
  REQUIRE(absl::StrContains(status.message(), "dense.weight has shape [2, 1] instead of [1, 2]"));
  REQUIRE(absl::StrContains(status.message(), "norm.bias holds integers"));
  REQUIRE(!absl::StrContains(status.message(), "cls.head"));
  REQUIRE(torch::equal(norm->weight, torch::ones({2})));
}

TEST_CASE("a weight that is not finite is named") {
  torch::nn::LayerNorm norm(torch::nn::LayerNormOptions({2}));
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const absl::Status status =
      Load(File({{"weight", {TensorDtype::kF32, {2}, Bytes<float>({1, nan})}},
                 {"bias", {TensorDtype::kF32, {2}, Bytes<float>({1, 1})}}}),
           {}, norm.ptr().get());
  REQUIRE(absl::IsInvalidArgument(status));
  REQUIRE(absl::StrContains(status.message(), "weight has a number that is not finite"));
}

TEST_CASE("random weights are the seed's, with the spread that training starts from") {
  Net a, b, c;
  REQUIRE(RandomizeWeights(9, &a).ok());
  REQUIRE(RandomizeWeights(9, &b).ok());
  REQUIRE(RandomizeWeights(10, &c).ok());
  const std::string bytes = *SerializeWeights(a, WeightDtype::kFloat32);
  REQUIRE(bytes == *SerializeWeights(b, WeightDtype::kFloat32));
  REQUIRE(bytes != *SerializeWeights(c, WeightDtype::kFloat32));
  auto weights = a.named_parameters();
  REQUIRE(weights["dense.weight"].std().item<float>() == Approx(0.02).epsilon(0.05));
  REQUIRE(weights["conv.weight"].std().item<float>() ==
          Approx(std::sqrt(2.0 / (64 * 9))).epsilon(0.05));
  REQUIRE(weights["norm.weight"].eq(1).all().item<bool>());
  for (const char* bias : {"norm.bias", "dense.bias", "conv.bias"}) {
    REQUIRE(weights[bias].eq(0).all().item<bool>());
  }
}

}  // namespace
}  // namespace sightline
