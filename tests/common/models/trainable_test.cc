// What holds of every family that is learnt.
#include "common/models/trainable.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "common/base/files.h"
#include "common/bundle/model_bundle.h"
#include "common/models/model.h"
#include "common/models/network/autocast.h"
#include "common/models/network/network_model.h"
#include "common/models/network/row_dropout.h"
#include "common/models/network/weights.h"
#include "tests/common/models/family_results.h"
#include "tests/common/models/tiny_families.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

constexpr int kItems = 9;

// A family's bundle, learner and inputs, read as the family reads them.
struct Learner {
  explicit Learner(const TinyFamily& family, const TrainableOptions& options = {})
      : bundle(MakeTinyBundle(store.path(), family)) {
    auto loaded = LoadTrainable(bundle, options);
    INFO(loaded.status().ToString());
    REQUIRE(loaded.ok());
    learner = *std::move(loaded);
    for (int i = 0; i < kItems; ++i) {
      images.push_back(*learner->network->ReadImage(TinyImage(family, i)));
      texts.push_back(learner->text->Tokenize(TinyText(i))->ids);
    }
    for (const ImageNumbers& image : images) image_pointers.push_back(&image);
    for (const std::vector<int32_t>& text : texts) text_spans.emplace_back(text);
  }

  bool has_embedding() const { return bundle.manifest.has_embedding(); }
  bool has_cross_encoder() const { return bundle.manifest.has_cross_encoder(); }

  const TempDir store;
  ModelBundle bundle;
  std::unique_ptr<TrainableNetwork> learner;
  std::vector<ImageNumbers> images;
  std::vector<const ImageNumbers*> image_pointers;
  std::vector<std::vector<int32_t>> texts;
  std::vector<TokenSpan> text_spans;
};

// Scores of text i with images i and i + 1.
at::Tensor Scores(const Network& network, const Learner& of) {
  const std::vector<FeatureRows> images = network.PrepareImages(of.image_pointers);
  const std::vector<PreparedText> texts = network.PrepareTexts(of.text_spans);
  std::vector<NetworkPair> pairs;
  for (int i = 0; i < kItems; ++i) {
    for (int image = i; image < i + 2; ++image) {
      const FeatureRows& rows = images[image % kItems];
      pairs.push_back({of.text_spans[i], &texts[i], {rows.begin(), rows.end()}});
    }
  }
  return network.ScorePairs(pairs);
}

// All that the network computes of the inputs.
std::vector<at::Tensor> Outputs(const Network& network, const Learner& of) {
  std::vector<at::Tensor> outputs;
  if (of.has_embedding()) {
    outputs.push_back(network.EncodeTexts(of.text_spans));
    outputs.push_back(network.EncodeImages(of.image_pointers));
  }
  if (of.has_cross_encoder()) outputs.push_back(Scores(network, of));
  return outputs;
}

// One number that depends on all outputs, differently on each.
at::Tensor Sum(const Learner& of) {
  at::Tensor sum = at::zeros({});
  for (const at::Tensor& output : Outputs(*of.learner->network, of)) {
    sum = sum + (output * at::linspace(-1, 1, output.numel()).view(output.sizes())).sum();
  }
  return sum;
}

bool IsLearnt(const TinyFamily& family) {
  return family.manifest.family() != "ensemble" && family.manifest.family() != "torchscript";
}

std::vector<TinyFamily> LearntFamilies() {
  std::vector<TinyFamily> families;
  for (const TinyFamily& family : TinyFamilies()) {
    if (IsLearnt(family)) families.push_back(family);
  }
  return families;
}

TEST_CASE("what is learnt computes what is served") {
  for (const TinyFamily& family : LearntFamilies()) {
    INFO(family.name);
    const Learner of(family);
    const auto served = MustLoad(of.bundle);
    at::NoGradGuard no_grad;
    const std::vector<at::Tensor> expected = Outputs(*NetworkOf(*served), of);
    const std::vector<at::Tensor> actual = Outputs(*of.learner->network, of);
    REQUIRE(actual.size() == expected.size());
    for (size_t i = 0; i < actual.size(); ++i) {
      INFO("output " << i);
      REQUIRE((actual[i] - expected[i]).abs().max().item<float>() <
              2e-5 * (1 + expected[i].abs().max().item<float>()));
    }
  }
}

TEST_CASE("every parameter of every family learns") {
  for (const TinyFamily& family : LearntFamilies()) {
    INFO(family.name);
    const Learner of(family);
    Sum(of).backward();
    for (const auto& parameter : of.learner->module->named_parameters()) {
      INFO(parameter.key());
      REQUIRE(parameter.value().grad().defined());
      // What is added to all alike changes no softmax.
      if (absl::StrContains(parameter.key(), ".key.bias") ||
          absl::StrContains(parameter.key(), "embedding_common.0.bias")) {
        continue;
      }
      REQUIRE(parameter.value().grad().abs().max().item<float>() > 0);
    }
  }
}

// Moves all parameters by `step` times their gradients.
void Move(double step, TrainableNetwork* learner) {
  at::NoGradGuard no_grad;
  for (const at::Tensor& parameter : learner->module->parameters()) {
    parameter.add_(parameter.grad(), step);
  }
}

TEST_CASE("gradients of every family are what outputs change by") {
  for (const TinyFamily& family : LearntFamilies()) {
    INFO(family.name);
    const Learner of(family);
    Sum(of).backward();
    double square = 0;
    for (const at::Tensor& parameter : of.learner->module->parameters()) {
      square += parameter.grad().pow(2).sum().item<double>();
    }
    // Central differences along the gradient, which grow by its square; a step that is large
    // enough for float32 and small enough for a curve.
    const double step = 3e-4 / std::sqrt(square);
    Move(step, of.learner.get());
    const double above = Sum(of).item<double>();
    Move(-2 * step, of.learner.get());
    const double below = Sum(of).item<double>();
    REQUIRE((above - below) / (2 * step) == Approx(square).epsilon(0.02));
  }
}

TEST_CASE("in bfloat16 a learner computes nearly what it does in float32, and learns") {
  if (!ProbeBfloat16(at::kCPU).ok()) return;  // as a run on this machine would say
  TrainableOptions options;
  options.bfloat16 = true;
  for (const TinyFamily& family : LearntFamilies()) {
    INFO(family.name);
    const Learner exact(family), rounded(family, options);
    Sum(rounded).backward();
    for (const at::Tensor& parameter : rounded.learner->module->parameters()) {
      REQUIRE(parameter.grad().scalar_type() == at::kFloat);
      REQUIRE(at::isfinite(parameter.grad()).all().item<bool>());
    }
    at::NoGradGuard no_grad;
    const std::vector<at::Tensor> expected = Outputs(*exact.learner->network, exact);
    const std::vector<at::Tensor> actual = Outputs(*rounded.learner->network, rounded);
    for (size_t i = 0; i < actual.size(); ++i) {
      INFO("output " << i);
      // Eight bits of each factor, in the blocks alone.
      const bool has_blocks = rounded.bundle.manifest.has_transformer();
      REQUIRE(actual[i].equal(expected[i]) == !has_blocks);
      REQUIRE((actual[i] - expected[i]).abs().max().item<float>() <
              0.05 * (1 + expected[i].abs().max().item<float>()));
    }
  }
}

TEST_CASE("dropout is in training mode alone, and as much of it as was asked for") {
  for (const TinyFamily& family : LearntFamilies()) {
    INFO(family.name);
    const Learner usual(family);
    REQUIRE(Sum(usual).item<double>() == Sum(usual).item<double>());
    usual.learner->module->train();
    const auto learnt = [&](uint64_t seed) {
      const DropoutScope scope(seed);
      return Sum(usual).item<double>();
    };
    REQUIRE(learnt(1) == learnt(1));
    REQUIRE(learnt(1) != learnt(2));

    TrainableOptions options;
    options.dropout = 0;
    const Learner none(family, options);
    none.learner->module->train();
    REQUIRE(Sum(none).item<double>() == Sum(none).item<double>());
  }
}

TEST_CASE("a learner's weights are its bundle's, and written again the same file") {
  for (const TinyFamily& family : LearntFamilies()) {
    INFO(family.name);
    const Learner of(family);
    const auto written = SerializeWeights(*of.learner->module, WeightDtype::kFloat32);
    REQUIRE(written.ok());
    REQUIRE(*written == *ReadFile(of.bundle.FilePath(kWeightsFile)));
  }
}

TEST_CASE("a family that is made of other bundles is not learnt") {
  for (const TinyFamily& family : TinyFamilies()) {
    if (IsLearnt(family)) continue;
    INFO(family.name);
    const TempDir store;
    const absl::Status status = LoadTrainable(MakeTinyBundle(store.path(), family), {}).status();
    REQUIRE(status.code() == absl::StatusCode::kInvalidArgument);
    REQUIRE(absl::StrContains(status.message(), family.manifest.family()));
  }
}

}  // namespace
}  // namespace sightline
