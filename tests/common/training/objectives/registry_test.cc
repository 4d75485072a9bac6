#include "common/training/objectives/registry.h"

#include <ATen/ATen.h>

#include <limits>
#include <set>
#include <string>

#include "tests/support/catch.h"

namespace sightline {
namespace {

at::Tensor Numbers(at::IntArrayRef shape, uint64_t seed) {
  at::manual_seed(seed);
  return at::randn(shape, at::kDouble);
}

TowerRows Rows() {
  return {Numbers({3, 4}, 1), Numbers({5, 4}, 2), {}, {}, {}};
}

double Value(const std::string& name, const ObjectiveInput& input) {
  const Objective* const objective = FindObjective(name).value();
  return ComputeLoss(*objective, input, objective->defaults)->value.item<double>();
}

TEST_CASE("a name stands for its function with the paper's numbers") {
  const TowerRows rows = Rows();
  const at::Tensor scale = at::full({}, 0.5, at::kDouble);
  REQUIRE(Value("cmr", rows) == ContrastiveLoss(rows, {}).value.item<double>());
  REQUIRE(Value("contrastive", ScaledTowerRows{rows, scale}) ==
          ContrastiveLoss(rows, scale).value.item<double>());
  REQUIRE(Value("decomposed", rows) == DecomposedLoss(rows, 0.005).value.item<double>());
  REQUIRE(Value("hinge", rows) == HingeLoss(rows, 0.1, BatchReduction::kMean).value.item<double>());
  const BatchScores matrix = {Numbers({3, 3}, 3).sigmoid(), {}};
  REQUIRE(Value("matrix_hinge", matrix) ==
          MatrixHingeLoss(matrix, 0.2, WrongPairs::kHardest).value.item<double>());

  const at::Tensor logits = Numbers({3, 4, 2}, 4);
  REQUIRE(Value("listwise", PairLogits{logits}) == ListwiseLoss(logits).value.item<double>());
  REQUIRE(Value("pairwise", PairLogits{logits}) == PairwiseLoss(logits).value.item<double>());
  REQUIRE(Value("sigmoid_hinge", PairLogits{logits}) ==
          SigmoidHingeLoss(logits, 0.2).value.item<double>());
  const at::Tensor labels = at::tensor({1, 0, 1}, at::kLong);
  REQUIRE(Value("matching", Predictions{logits.select(1, 0), labels}) ==
          MatchingLoss(logits.select(1, 0), labels).value.item<double>());

  const Predictions tokens = {Numbers({3, 4}, 5), labels};
  REQUIRE(Value("mlm", tokens) == MaskedTokenLoss(tokens).value.item<double>());
  REQUIRE(Value("msm", tokens) == MaskedTokenLoss(tokens).value.item<double>());
  const Predictions soft = {Numbers({3, 4}, 5), at::softmax(Numbers({3, 4}, 6), 1)};
  REQUIRE(Value("mrfr", soft) == RegionFeatureLoss(soft).value.item<double>());
  REQUIRE(Value("mrc_kl", soft) ==
          RegionClassLoss(soft, ClassReduction::kSum).value.item<double>());
  REQUIRE(Value("distillation", soft) ==
          DistillationLoss(soft, 1, ClassReduction::kSum).value.item<double>());
}

TEST_CASE("every objective has a name of its own, a source and defaults that it accepts") {
  std::set<std::string> names;
  for (const Objective& objective : Objectives()) {
    REQUIRE(names.insert(objective.name).second);
    REQUIRE_FALSE(objective.source.empty());
    REQUIRE(CheckObjectiveOptions(objective, objective.defaults).ok());
    REQUIRE(FindObjective(objective.name).value() == &objective);
  }
  REQUIRE(names.size() == 14);
}

TEST_CASE("an unknown name is answered with those that there are") {
  const auto found = FindObjective("triplet");
  REQUIRE(found.status().code() == absl::StatusCode::kInvalidArgument);
  REQUIRE_THAT(std::string(found.status().message()), Catch::Contains("\"triplet\""));
  REQUIRE_THAT(std::string(found.status().message()), Catch::Contains("sigmoid_hinge"));
}

TEST_CASE("options are refused outside of their range, and where nothing looks at them") {
  const Objective& hinge = *FindObjective("matrix_hinge").value();
  ObjectiveOptions options = hinge.defaults;
  options.wrong_pairs = WrongPairs::kAll;
  options.margin = 1;
  REQUIRE(CheckObjectiveOptions(hinge, options).ok());
  options.margin = std::numeric_limits<double>::quiet_NaN();
  options.temperature = 0;
  options.classes = ClassReduction::kMean;
  const std::string told(CheckObjectiveOptions(hinge, options).message());
  for (const char* part : {"matrix_hinge", "margin is nan", "temperature is 0", "classes is set"}) {
    REQUIRE_THAT(told, Catch::Contains(part));
  }
  const Objective& cmr = *FindObjective("cmr").value();
  options = cmr.defaults;
  options.temperature = 0.1;
  options.margin = 0.1;
  options.wrong_pairs = WrongPairs::kAll;
  const std::string unread(CheckObjectiveOptions(cmr, options).message());
  for (const char* part : {"margin is set", "temperature is set", "wrong_pairs is set"}) {
    REQUIRE_THAT(unread, Catch::Contains(part));
  }
}

TEST_CASE("an objective is not given what it does not read") {
  const Objective& listwise = *FindObjective("listwise").value();
  const auto loss = ComputeLoss(listwise, Rows(), listwise.defaults);
  REQUIRE(loss.status().code() == absl::StatusCode::kInvalidArgument);
  REQUIRE(loss.status().message() == "objective listwise reads problems' logits, not embeddings");
}

}  // namespace
}  // namespace sightline
