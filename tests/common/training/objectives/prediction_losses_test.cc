#include "common/training/objectives/prediction_losses.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/common/training/objectives/gradient_check.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

constexpr int64_t kRows = 4, kClasses = 5;

at::Tensor Numbers(uint64_t seed) {
  at::manual_seed(seed);
  return Leaf(at::randn({kRows, kClasses}, at::kDouble));
}

// softmax(row / temperature), in plain loops.
std::vector<double> Softmax(const at::Tensor& row, double temperature) {
  std::vector<double> p;
  double sum = 0;
  for (int64_t k = 0; k < row.size(0); ++k) {
    p.push_back(std::exp(row[k].item<double>() / temperature));
    sum += p.back();
  }
  for (double& x : p) x /= sum;
  return p;
}

// Rows of probabilities, one of which knows its class and one of which leaves two out.
at::Tensor SoftLabels() {
  at::Tensor labels = at::softmax(Numbers(7).detach(), 1);
  labels[0] = at::tensor({0.0, 1.0, 0.0, 0.0, 0.0}, at::kDouble);
  labels[1] = at::tensor({0.5, 0.25, 0.0, 0.25, 0.0}, at::kDouble);
  return labels;
}

TEST_CASE("masked tokens cost the cross-entropy of what was there, mean over them") {
  const at::Tensor logits = Numbers(1), tokens = at::tensor({2, 0, 4, 2}, at::kLong);
  double total = 0, first = 0;
  for (int64_t i = 0; i < kRows; ++i) {
    const std::vector<double> p = Softmax(logits[i], 1);
    const int64_t token = tokens[i].item<int64_t>();
    total -= std::log(p[token]);
    first += *std::max_element(p.begin(), p.end()) == p[token];
  }
  const Loss loss = MaskedTokenLoss({logits, tokens});
  REQUIRE(loss.value.item<double>() == Approx(total / kRows));
  REQUIRE(loss.first.item<double>() == Approx(first / kRows));
  RequireGradients({logits}, [&] { return MaskedTokenLoss({logits, tokens}).value; });
}

TEST_CASE("regions' features cost the mean square over all their numbers") {
  const at::Tensor predicted = Numbers(1), features = Numbers(2).detach();
  double total = 0;
  for (int64_t i = 0; i < kRows; ++i) {
    for (int64_t k = 0; k < kClasses; ++k) {
      total += std::pow((predicted[i][k] - features[i][k]).item<double>(), 2);
    }
  }
  const Loss loss = RegionFeatureLoss({predicted, features});
  REQUIRE(loss.value.item<double>() == Approx(total / (kRows * kClasses)));
  REQUIRE_FALSE(loss.first.defined());
  RequireGradients({predicted}, [&] { return RegionFeatureLoss({predicted, features}).value; });
}

TEST_CASE("regions' classes cost the divergence from the soft label") {
  const at::Tensor logits = Numbers(1), labels = SoftLabels();
  double total = 0;
  for (int64_t i = 0; i < kRows; ++i) {
    const std::vector<double> q = Softmax(logits[i], 1);
    for (int64_t k = 0; k < kClasses; ++k) {
      const double p = labels[i][k].item<double>();
      if (p > 0) total += p * std::log(p / q[k]);
    }
  }
  const auto value = [&](ClassReduction reduction) {
    return RegionClassLoss({logits, labels}, reduction).value.item<double>();
  };
  REQUIRE(value(ClassReduction::kSum) == Approx(total / kRows));
  REQUIRE(value(ClassReduction::kMean) == Approx(total / kRows / kClasses));
  for (const ClassReduction reduction : {ClassReduction::kSum, ClassReduction::kMean}) {
    RequireGradients({logits}, [&] { return RegionClassLoss({logits, labels}, reduction).value; });
  }
  // Labels that are predicted cost nothing.
  const at::Tensor sure = at::softmax(logits.detach(), 1);
  REQUIRE(RegionClassLoss({logits, sure}, ClassReduction::kSum).value.item<double>() ==
          Approx(0).margin(1e-12));
}

TEST_CASE("distillation costs the divergence from the softened teacher, at the gradients' size") {
  const at::Tensor student = Numbers(1), teacher = Numbers(2).detach();
  for (const double temperature : {1.0, 4.0}) {
    double total = 0;
    for (int64_t i = 0; i < kRows; ++i) {
      const std::vector<double> p = Softmax(teacher[i], temperature);
      const std::vector<double> q = Softmax(student[i], temperature);
      for (int64_t k = 0; k < kClasses; ++k) total += p[k] * std::log(p[k] / q[k]);
    }
    for (const ClassReduction reduction : {ClassReduction::kSum, ClassReduction::kMean}) {
      const auto loss = [&] {
        return DistillationLoss({student, teacher}, temperature, reduction).value;
      };
      const double candidates = reduction == ClassReduction::kMean ? kClasses : 1;
      REQUIRE(loss().item<double>() ==
              Approx(total / candidates / kRows * temperature * temperature));
      RequireGradients({student}, loss);
    }
  }
}

TEST_CASE("a teacher is not taught") {
  const at::Tensor student = Numbers(1), teacher = Numbers(2);
  DistillationLoss({student, teacher}, 1, ClassReduction::kSum).value.backward();
  REQUIRE_FALSE(teacher.grad().defined());
}

TEST_CASE("a batch in which nothing is masked costs nothing and has a gradient of zero") {
  const at::Tensor table = Numbers(1);
  const auto none = [&] { return at::zeros({0, kRows}, at::kDouble).matmul(table); };
  const at::Tensor numbers = at::zeros({0, kClasses}, at::kDouble);
  const std::vector<Loss> losses = {
      MaskedTokenLoss({none(), at::zeros({0}, at::kLong)}),
      RegionFeatureLoss({none(), numbers}),
      RegionClassLoss({none(), numbers}, ClassReduction::kSum),
  };
  for (const Loss& loss : losses) {
    REQUIRE(loss.value.item<double>() == 0);
    loss.value.backward();
    REQUIRE(table.grad().abs().max().item<double>() == 0);
  }
}

TEST_CASE("losses of numbers in bfloat16 are computed in float32") {
  const at::Tensor logits = Numbers(1).detach().to(at::kBFloat16);
  const at::Tensor tokens = at::tensor({2, 0, 4, 2}, at::kLong);
  const at::Tensor value = MaskedTokenLoss({logits, tokens}).value;
  REQUIRE(value.scalar_type() == at::kFloat);
  REQUIRE(value.item<float>() ==
          MaskedTokenLoss({logits.to(at::kFloat), tokens}).value.item<float>());
}

}  // namespace
}  // namespace sightline
