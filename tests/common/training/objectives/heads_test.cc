#include "common/training/objectives/heads.h"

#include <ATen/ATen.h>
#include <torch/types.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "common/training/objectives/prediction_losses.h"
#include "tests/common/training/objectives/gradient_check.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

constexpr int64_t kHidden = 4, kVocabulary = 6, kFeatures = 5, kClasses = 3, kRows = 3;

BertConfig Config() {
  BertConfig config;
  config.hidden_size = kHidden;
  config.vocabulary_size = kVocabulary;
  return config;
}

at::Tensor Numbers(at::IntArrayRef shape, uint64_t seed) {
  at::manual_seed(seed);
  return Leaf(at::randn(shape, at::kDouble));
}

// In float64, each parameter of its own numbers.
PretrainingHeads Heads() {
  PretrainingHeads heads(Config(),
                         HeadChoice{/*tokens=*/true, /*features=*/true, kClasses, kFeatures});
  heads->to(at::kDouble);
  uint64_t seed = 100;
  for (at::Tensor& parameter : heads->parameters()) {
    parameter.set_data(Numbers(parameter.sizes(), seed++).detach());
  }
  return heads;
}

std::vector<double> Row(const at::Tensor& x) {
  const at::Tensor all = x.detach().contiguous();
  return {all.data_ptr<double>(), all.data_ptr<double>() + all.numel()};
}

// LN(gelu(W x + b)) of one row, in plain loops; `names` are of the dense layer and of the norm.
std::vector<double> Transformed(const PretrainingHeads& heads, const std::string& dense,
                                const std::string& norm, const std::vector<double>& x) {
  const auto parameters = heads->named_parameters();
  const auto of = [&](const std::string& name) { return Row(parameters[name]); };
  const std::vector<double> w = of(dense + ".weight"), b = of(dense + ".bias");
  std::vector<double> y(kHidden);
  double mean = 0, variance = 0;
  for (int64_t i = 0; i < kHidden; ++i) {
    y[i] = b[i];
    for (int64_t j = 0; j < kHidden; ++j) y[i] += w[i * kHidden + j] * x[j];
    y[i] *= 0.5 * (1 + std::erf(y[i] / std::sqrt(2.0)));
    mean += y[i] / kHidden;
  }
  for (const double value : y) variance += (value - mean) * (value - mean) / kHidden;
  const std::vector<double> scale = of(norm + ".weight"), shift = of(norm + ".bias");
  for (int64_t i = 0; i < kHidden; ++i) {
    y[i] = (y[i] - mean) / std::sqrt(variance + 1e-12) * scale[i] + shift[i];
  }
  return y;
}

// x . columns of `matrix` (outputs x H) + bias.
std::vector<double> Product(const std::vector<double>& x, const at::Tensor& matrix,
                            const at::Tensor& bias) {
  const std::vector<double> w = Row(matrix);
  std::vector<double> y = Row(bias);
  for (size_t i = 0; i < y.size(); ++i) {
    for (int64_t j = 0; j < kHidden; ++j) y[i] += w[i * kHidden + j] * x[j];
  }
  return y;
}

void RequireRows(const at::Tensor& found, const std::vector<std::vector<double>>& expected) {
  REQUIRE(found.size(0) == static_cast<int64_t>(expected.size()));
  for (size_t i = 0; i < expected.size(); ++i) {
    const std::vector<double> row = Row(found[i]);
    REQUIRE(row.size() == expected[i].size());
    for (size_t k = 0; k < row.size(); ++k) REQUIRE(row[k] == Approx(expected[i][k]));
  }
}

std::vector<at::Tensor> WithParameters(const torch::nn::Module& module,
                                       std::vector<at::Tensor> leaves) {
  for (const at::Tensor& parameter : module.parameters()) leaves.push_back(parameter);
  return leaves;
}

TEST_CASE("parameters are named as checkpoints name them, and tied tables are none") {
  std::map<std::string, std::vector<int64_t>> shapes;
  for (const auto& item : Heads()->named_parameters()) {
    shapes[item.key()] = item.value().sizes().vec();
  }
  const std::map<std::string, std::vector<int64_t>> expected = {
      {"cls.predictions.bias", {kVocabulary}},
      {"cls.predictions.transform.dense.weight", {kHidden, kHidden}},
      {"cls.predictions.transform.dense.bias", {kHidden}},
      {"cls.predictions.transform.LayerNorm.weight", {kHidden}},
      {"cls.predictions.transform.LayerNorm.bias", {kHidden}},
      {"feat_regress.net.0.weight", {kHidden, kHidden}},
      {"feat_regress.net.0.bias", {kHidden}},
      {"feat_regress.net.2.weight", {kHidden}},
      {"feat_regress.net.2.bias", {kHidden}},
      {"feat_regress.bias", {kFeatures}},
      {"region_classifier.net.0.weight", {kHidden, kHidden}},
      {"region_classifier.net.0.bias", {kHidden}},
      {"region_classifier.net.2.weight", {kHidden}},
      {"region_classifier.net.2.bias", {kHidden}},
      {"region_classifier.net.3.weight", {kClasses, kHidden}},
      {"region_classifier.net.3.bias", {kClasses}},
      {"mask_embedding.weight", {1, kFeatures}},
  };
  REQUIRE(shapes == expected);
}

TEST_CASE("heads that nothing is predicted by are not there") {
  const auto names = [](const HeadChoice& choice) {
    std::vector<std::string> all;
    for (const auto& item : PretrainingHeads(Config(), choice)->named_children()) {
      all.push_back(item.key());
    }
    return all;
  };
  using Names = std::vector<std::string>;
  REQUIRE(names({/*tokens=*/true, false, 0, kFeatures}) == Names{"cls"});
  REQUIRE(names({false, /*features=*/true, 0, kFeatures}) ==
          Names{"feat_regress", "mask_embedding"});
  REQUIRE(names({false, false, kClasses, kFeatures}) ==
          Names{"region_classifier", "mask_embedding"});
  REQUIRE_FALSE(PretrainingHeads(Config(), HeadChoice{true})->hidden_feature().defined());
  const PretrainingHeads regions(Config(), HeadChoice{false, true, 0, kFeatures});
  REQUIRE(regions->hidden_feature().sizes().vec() == std::vector<int64_t>{kFeatures});
}

TEST_CASE("heads compute what the plain loops do") {
  PretrainingHeads heads = Heads();
  const auto parameters = heads->named_parameters();
  const at::Tensor rows = Numbers({kRows, kHidden}, 1);
  const at::Tensor words = Numbers({kVocabulary, kHidden}, 2);
  const at::Tensor regions = Numbers({kHidden, kFeatures}, 3);
  std::vector<std::vector<double>> tokens, features, classes;
  for (int64_t i = 0; i < kRows; ++i) {
    const std::vector<double> x = Row(rows[i]);
    const std::string transform = "cls.predictions.transform.";
    tokens.push_back(Product(Transformed(heads, transform + "dense", transform + "LayerNorm", x),
                             words, parameters["cls.predictions.bias"]));
    features.push_back(Product(Transformed(heads, "feat_regress.net.0", "feat_regress.net.2", x),
                               regions.t(), parameters["feat_regress.bias"]));
    classes.push_back(Product(
        Transformed(heads, "region_classifier.net.0", "region_classifier.net.2", x),
        parameters["region_classifier.net.3.weight"], parameters["region_classifier.net.3.bias"]));
  }
  RequireRows(heads->tokens().forward(rows, words), tokens);
  RequireRows(heads->features().forward(rows, regions), features);
  RequireRows(heads->classes().forward(rows), classes);
}

TEST_CASE("gradients of heads are slopes, of tied tables too") {
  PretrainingHeads heads = Heads();
  const at::Tensor rows = Numbers({kRows, kHidden}, 1);
  const at::Tensor words = Numbers({kVocabulary, kHidden}, 2);
  const at::Tensor regions = Numbers({kHidden, kFeatures}, 3);
  const at::Tensor targets = at::tensor({0, 5, 2}, at::kLong);
  const at::Tensor features = Numbers({kRows, kFeatures}, 4).detach();
  const at::Tensor labels = at::softmax(Numbers({kRows, kClasses}, 5).detach(), 1);
  RequireGradients(WithParameters(heads->tokens(), {rows, words}), [&] {
    return MaskedTokenLoss({heads->tokens().forward(rows, words), targets}).value;
  });
  RequireGradients(WithParameters(heads->features(), {rows, regions}), [&] {
    return RegionFeatureLoss({heads->features().forward(rows, regions), features}).value;
  });
  RequireGradients(WithParameters(heads->classes(), {rows}), [&] {
    const Predictions classes = {heads->classes().forward(rows), labels};
    return RegionClassLoss(classes, ClassReduction::kSum).value;
  });
}

TEST_CASE("masked rows are given the other tower's vector of their own item") {
  const at::Tensor rows = Numbers({3, kHidden}, 1), vectors = Numbers({2, kHidden}, 2);
  const std::vector<int64_t> items = {1, 0, 1};
  for (const GlobalVector how : {GlobalVector::kAdd, GlobalVector::kMultiply}) {
    const at::Tensor found = WithOtherTower(rows, items, vectors, how);
    for (size_t n = 0; n < items.size(); ++n) {
      for (int64_t k = 0; k < kHidden; ++k) {
        const double own = rows[n][k].item<double>(), other = vectors[items[n]][k].item<double>();
        REQUIRE(found[n][k].item<double>() ==
                (how == GlobalVector::kAdd ? own + other : own * other));
      }
    }
    // Both towers learn from it.
    RequireGradients({rows, vectors},
                     [&] { return WithOtherTower(rows, items, vectors, how).square().sum(); });
  }
}

}  // namespace
}  // namespace sightline
