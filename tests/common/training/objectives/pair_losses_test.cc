#include "common/training/objectives/pair_losses.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "tests/common/training/objectives/gradient_check.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

constexpr int64_t kProblems = 3, kCandidates = 4;

at::Tensor Logits(int64_t candidates, int64_t numbers) {
  at::manual_seed(3);
  return Leaf(at::randn({kProblems, candidates, numbers}, at::kDouble));
}

// Match minus no match.
double Score(const at::Tensor& logits) {
  if (logits.size(0) == 1) return logits[0].item<double>();
  return logits[1].item<double>() - logits[0].item<double>();
}

double Sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}

TEST_CASE("the listwise loss is a softmax over the candidates of each problem") {
  for (const int64_t numbers : {1, 2}) {
    const at::Tensor logits = Logits(kCandidates, numbers);
    double total = 0, first = 0;
    for (int64_t p = 0; p < kProblems; ++p) {
      double sum = 0, most = -1e9;
      for (int64_t c = 0; c < kCandidates; ++c) {
        sum += std::exp(Score(logits[p][c]));
        most = std::max(most, Score(logits[p][c]));
      }
      total -= Score(logits[p][0]) - std::log(sum);
      first += Score(logits[p][0]) == most;
    }
    const Loss loss = ListwiseLoss(logits);
    REQUIRE(loss.value.item<double>() == Approx(total / kProblems));
    REQUIRE(loss.first.item<double>() == Approx(first / kProblems));
    RequireGradients({logits}, [&] { return ListwiseLoss(logits).value; });
  }
}

TEST_CASE("the pairwise loss judges each pair by itself, by two classes or by one number") {
  for (const int64_t candidates : {2, 4}) {
    const at::Tensor logits = Logits(candidates, 2);
    double total = 0;
    for (int64_t p = 0; p < kProblems; ++p) {
      for (int64_t c = 0; c < candidates; ++c) {
        const double no = logits[p][c][0].item<double>(), yes = logits[p][c][1].item<double>();
        total -= (c == 0 ? yes : no) - std::log(std::exp(no) + std::exp(yes));
      }
    }
    REQUIRE(PairwiseLoss(logits).value.item<double>() ==
            Approx(total / static_cast<double>(kProblems * candidates)));
    const at::Tensor raw = Leaf(logits.select(2, 1) - logits.select(2, 0)).unsqueeze(2);
    REQUIRE(PairwiseLoss(raw).value.item<double>() ==
            Approx(PairwiseLoss(logits).value.item<double>()));
    RequireGradients({logits}, [&] { return PairwiseLoss(logits).value; });
  }
}

TEST_CASE("a score that is far off costs what it is off, and no infinity") {
  const at::Tensor logits = at::tensor({-2000.0, 2000.0}, at::kDouble).view({1, 2, 1});
  REQUIRE(PairwiseLoss(logits).value.item<double>() == Approx(2000));
}

TEST_CASE("matching judges each pair by its own label") {
  const at::Tensor logits = Leaf(Logits(kCandidates, 2).view({-1, 2}));
  const at::Tensor matches = at::tensor({1, 0, 0, 1, 1, 1, 0, 0, 0, 1, 0, 1}, at::kLong);
  double total = 0, told = 0;
  for (int64_t i = 0; i < logits.size(0); ++i) {
    const bool match = matches[i].item<int64_t>() == 1;
    const double p = Sigmoid(Score(logits[i]));
    total -= std::log(match ? p : 1 - p);
    told += (p > 0.5) == match;
  }
  const Loss loss = MatchingLoss(logits, matches);
  REQUIRE(loss.value.item<double>() == Approx(total / 12));
  REQUIRE(loss.first.item<double>() == Approx(told / 12));
  RequireGradients({logits}, [&] { return MatchingLoss(logits, matches).value; });
}

TEST_CASE("the sigmoid hinge compares probabilities with the right candidate's") {
  for (const int64_t numbers : {1, 2}) {
    const at::Tensor logits = Logits(kCandidates, numbers);
    double total = 0;
    for (int64_t p = 0; p < kProblems; ++p) {
      for (int64_t c = 1; c < kCandidates; ++c) {
        total += std::max(0.0, 0.2 + Sigmoid(Score(logits[p][c])) - Sigmoid(Score(logits[p][0])));
      }
    }
    REQUIRE(SigmoidHingeLoss(logits, 0.2).value.item<double>() ==
            Approx(total / (kProblems * (kCandidates - 1))));
    RequireGradients({logits}, [&] { return SigmoidHingeLoss(logits, 0.2).value; });
  }
}

}  // namespace
}  // namespace sightline
