#include "common/training/objectives/tower_losses.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "tests/common/training/objectives/gradient_check.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

constexpr int64_t kTexts = 5, kImages = 8, kSize = 4;

at::Tensor UnitRows(int64_t count, uint64_t seed) {
  at::manual_seed(seed);
  const at::Tensor rows = at::randn({count, kSize}, at::kDouble);
  return Leaf(rows / rows.norm(2, {1}, true));
}

// Three related pairs, one of them with a distractor.
at::Tensor Related() {
  at::Tensor related = at::zeros({kTexts, kImages}, at::kBool);
  related[0][3] = true;
  related[3][0] = true;
  related[2][6] = true;
  return related;
}

TowerRows Batch() {
  return {UnitRows(kTexts, 1), UnitRows(kImages, 2), Related(), {}, {}};
}

TowerRows HardBatch() {
  TowerRows rows = Batch();
  rows.hard_texts = UnitRows(3, 3);
  rows.hard_images = UnitRows(4, 4);
  return rows;
}

std::vector<at::Tensor> LeavesOf(const TowerRows& rows) {
  std::vector<at::Tensor> leaves = {rows.texts, rows.images};
  if (rows.hard_texts.defined()) leaves.push_back(rows.hard_texts);
  if (rows.hard_images.defined()) leaves.push_back(rows.hard_images);
  return leaves;
}

double Cosine(const at::Tensor& a, const at::Tensor& b) {
  return (a * b).sum().item<double>();
}

bool AreRelated(const TowerRows& rows, int64_t text, int64_t image) {
  return rows.related.defined() && rows.related[text][image].item<bool>();
}

// Scores of what is wrong for text i, or with `from_image` for image i, in plain loops.
std::vector<double> WrongScores(const TowerRows& rows, int64_t i, bool from_image) {
  std::vector<double> wrong;
  const at::Tensor& own = from_image ? rows.images : rows.texts;
  for (int64_t j = 0; j < (from_image ? kTexts : kImages); ++j) {
    const bool related = from_image ? AreRelated(rows, j, i) : AreRelated(rows, i, j);
    if (j == i || related) continue;
    wrong.push_back(Cosine(own[i], from_image ? rows.texts[j] : rows.images[j]));
  }
  const at::Tensor& hard = from_image ? rows.hard_texts : rows.hard_images;
  for (int64_t j = 0; hard.defined() && j < hard.size(0); ++j) {
    wrong.push_back(Cosine(own[i], hard[j]));
  }
  return wrong;
}

// Sum over both directions of the mean of -log of the right one's share.
double SlowSoftmax(const TowerRows& rows, double scale) {
  double total = 0;
  for (const bool from_image : {false, true}) {
    for (int64_t i = 0; i < kTexts; ++i) {
      const double right = std::exp(scale * Cosine(rows.texts[i], rows.images[i]));
      double all = right;
      for (const double score : WrongScores(rows, i, from_image)) all += std::exp(scale * score);
      total -= std::log(right / all) / kTexts;
    }
  }
  return total;
}

// Sum over both directions and all i of the largest cost, or of all.
double SlowHinge(const TowerRows& rows, double margin, WrongPairs wrong) {
  double total = 0;
  for (const bool from_image : {false, true}) {
    for (int64_t i = 0; i < kTexts; ++i) {
      const double right = Cosine(rows.texts[i], rows.images[i]);
      double sum = 0, most = 0;
      for (const double score : WrongScores(rows, i, from_image)) {
        const double cost = std::max(0.0, margin + score - right);
        sum += cost;
        most = std::max(most, cost);
      }
      total += wrong == WrongPairs::kAll ? sum : most;
    }
  }
  return total;
}

at::Tensor Scores(const TowerRows& rows) {
  return at::matmul(rows.texts, rows.images.t());
}

TEST_CASE("the contrastive loss is that of the plain loops, with relatives left out") {
  for (const TowerRows& rows : {Batch(), HardBatch()}) {
    for (const double log_scale : {0.0, 2.5}) {
      const Loss loss = ContrastiveLoss(rows, at::full({}, log_scale, at::kDouble));
      REQUIRE(loss.value.item<double>() == Approx(SlowSoftmax(rows, std::exp(log_scale)) / 2));
    }
  }
}

TEST_CASE("cross-modal retrieval has raw scores, and nothing is related unless it is said") {
  TowerRows rows = Batch();
  rows.related = at::Tensor();
  rows.texts = Leaf(rows.texts * 3);
  REQUIRE(ContrastiveLoss(rows, {}).value.item<double>() == Approx(SlowSoftmax(rows, 1) / 2));
  TowerRows related = rows;
  related.related = Related();
  REQUIRE(ContrastiveLoss(related, {}).value.item<double>() <
          ContrastiveLoss(rows, {}).value.item<double>());
}

TEST_CASE("the decomposed loss adds both directions, hard ones of the other side in each") {
  for (const TowerRows& rows : {Batch(), HardBatch()}) {
    for (const double temperature : {0.5, 0.02}) {
      REQUIRE(DecomposedLoss(rows, temperature).value.item<double>() ==
              Approx(SlowSoftmax(rows, 1 / temperature)));
    }
  }
  // At the paper's temperature exp() of a cosine overflows float32; the loss does not.
  TowerRows rows = HardBatch();
  rows.texts = rows.texts.detach().to(at::kFloat);
  rows.images = rows.images.detach().to(at::kFloat);
  rows.hard_texts = rows.hard_texts.detach().to(at::kFloat);
  rows.hard_images = rows.hard_images.detach().to(at::kFloat);
  REQUIRE(DecomposedLoss(rows, 0.005).value.item<double>() ==
          Approx(SlowSoftmax(HardBatch(), 200)).epsilon(1e-4));
}

TEST_CASE("a hard image costs texts alone, and a hard text images") {
  TowerRows rows = Batch();
  rows.hard_images = UnitRows(2, 5);
  const double with_images = DecomposedLoss(rows, 0.1).value.item<double>();
  REQUIRE(with_images == Approx(SlowSoftmax(rows, 10)));
  // As good as the right one of text 0: at least half of its share is gone.
  rows.hard_images = Leaf(rows.images.narrow(0, 0, 1));
  const Loss fooled = DecomposedLoss(rows, 0.1);
  REQUIRE(fooled.value.item<double>() == Approx(SlowSoftmax(rows, 10)));
}

TEST_CASE("the hinge loss is that of the plain loops") {
  for (const TowerRows& rows : {Batch(), HardBatch()}) {
    for (const double margin : {0.1, 0.7}) {
      const double sum = SlowHinge(rows, margin, WrongPairs::kHardest);
      REQUIRE(HingeLoss(rows, margin, BatchReduction::kSum).value.item<double>() == Approx(sum));
      REQUIRE(HingeLoss(rows, margin, BatchReduction::kMean).value.item<double>() ==
              Approx(sum / kTexts));
    }
  }
}

TEST_CASE("the hinge over a matrix sums the hardest of each direction, or all") {
  const TowerRows rows = Batch();
  for (const WrongPairs wrong : {WrongPairs::kHardest, WrongPairs::kAll}) {
    for (const double margin : {0.2, 0.9}) {
      REQUIRE(MatrixHingeLoss({Scores(rows), rows.related}, margin, wrong).value.item<double>() ==
              Approx(SlowHinge(rows, margin, wrong)));
    }
  }
  // By hand: text 0 is 0.1 too near to image 1, and image 1 is to text 0; all else is far.
  const at::Tensor scores = at::tensor({0.8, 0.7, 0.1, 0.8}, at::kDouble).view({2, 2});
  REQUIRE(MatrixHingeLoss({scores, {}}, 0.2, WrongPairs::kHardest).value.item<double>() ==
          Approx(0.2));
}

TEST_CASE("gradients of losses over a batch are slopes") {
  for (const TowerRows& rows : {Batch(), HardBatch()}) {
    const at::Tensor scale = Leaf(at::full({}, 1.5));
    std::vector<at::Tensor> leaves = LeavesOf(rows);
    RequireGradients(leaves, [&] { return ContrastiveLoss(rows, {}).value; });
    RequireGradients(leaves, [&] { return DecomposedLoss(rows, 0.1).value; });
    for (const BatchReduction reduction : {BatchReduction::kMean, BatchReduction::kSum}) {
      RequireGradients(leaves, [&] { return HingeLoss(rows, 1.1, reduction).value; });
    }
    leaves.push_back(scale);
    RequireGradients(leaves, [&] { return ContrastiveLoss(rows, scale).value; });
  }
  const at::Tensor scores = Leaf(Scores(Batch()));
  for (const WrongPairs wrong : {WrongPairs::kHardest, WrongPairs::kAll}) {
    RequireGradients({scores}, [&] {
      return MatrixHingeLoss({scores, Related()}, 0.4, wrong).value;
    });
  }
}

TEST_CASE("a picture that is related to every other caption pulls and pushes nothing there") {
  TowerRows rows = Batch();
  rows.related = at::zeros({kTexts, kImages}, at::kBool);
  rows.related.select(1, 7).fill_(true);
  ContrastiveLoss(rows, at::zeros({}, at::kDouble)).value.backward();
  REQUIRE(rows.images.grad()[7].abs().max().item<double>() == 0);
  REQUIRE(rows.images.grad()[6].abs().max().item<double>() > 0);
}

TEST_CASE("how often the right answer came first does not count relatives") {
  TowerRows rows;
  rows.texts = at::eye(kSize, at::kDouble);
  rows.images = at::eye(kSize, at::kDouble).clone();
  rows.images[1] = rows.images[0].clone();
  rows.images[0] = -rows.images[0];
  rows.related = at::zeros({kSize, kSize}, at::kBool);
  const at::Tensor scale = at::zeros({}, at::kDouble);
  // Text 0 is nearest to image 1, and text 1 to none in particular.
  REQUIRE(ContrastiveLoss(rows, scale).first.item<double>() <= 0.75);
  rows.related[0][1] = true;
  rows.images = at::eye(kSize, at::kDouble).clone();
  rows.images[1] = 0.9 * rows.images[0] + 0.1 * rows.images[1];
  rows.images[0] = 0.8 * rows.images[0];
  REQUIRE(HingeLoss(rows, 0.1, BatchReduction::kMean).first.item<double>() == 1);
  REQUIRE(ContrastiveLoss(rows, scale).first.item<double>() == 1);
  REQUIRE(
      MatrixHingeLoss({Scores(rows), rows.related}, 0.1, WrongPairs::kAll).first.item<double>() ==
      1);
  rows.hard_images = rows.texts.narrow(0, 0, 1).clone();
  REQUIRE(HingeLoss(rows, 0.1, BatchReduction::kMean).first.item<double>() == 0.75);
}

}  // namespace
}  // namespace sightline
