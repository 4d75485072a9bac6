#include "common/training/losses.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "tests/support/catch.h"

namespace sightline {
namespace {

constexpr int64_t kTexts = 5, kImages = 8, kSize = 4;

at::Tensor UnitRows(int64_t count, uint64_t seed) {
  at::manual_seed(seed);
  const at::Tensor rows = at::randn({count, kSize}, at::kDouble);
  return rows / rows.norm(2, {1}, true);
}

// Three related pairs, one of them with a distractor.
at::Tensor Related() {
  at::Tensor related = at::zeros({kTexts, kImages}, at::kBool);
  related[0][3] = true;
  related[3][0] = true;
  related[2][6] = true;
  return related;
}

double Cosine(const at::Tensor& a, const at::Tensor& b) {
  return (a * b).sum().item<double>();
}

double SlowContrastive(const at::Tensor& texts, const at::Tensor& images, const at::Tensor& related,
                       double scale) {
  double total = 0;
  for (int64_t i = 0; i < kTexts; ++i) {
    double over_images = 0, over_texts = 0;
    for (int64_t j = 0; j < kImages; ++j) {
      if (!related[i][j].item<bool>()) over_images += std::exp(scale * Cosine(texts[i], images[j]));
    }
    for (int64_t j = 0; j < kTexts; ++j) {
      if (!related[j][i].item<bool>()) over_texts += std::exp(scale * Cosine(texts[j], images[i]));
    }
    const double right = std::exp(scale * Cosine(texts[i], images[i]));
    total -= 0.5 * (std::log(right / over_images) + std::log(right / over_texts));
  }
  return total / kTexts;
}

double SlowHinge(const at::Tensor& texts, const at::Tensor& images, const at::Tensor& related,
                 double margin) {
  double total = 0;
  for (int64_t i = 0; i < kTexts; ++i) {
    const double right = 1 - Cosine(texts[i], images[i]);
    double nearest_image = 100, nearest_text = 100;
    for (int64_t j = 0; j < kImages; ++j) {
      const double more = i == j || related[i][j].item<bool>() ? 2 : 0;
      nearest_image = std::min(nearest_image, 1 - Cosine(texts[i], images[j]) + more);
    }
    for (int64_t j = 0; j < kTexts; ++j) {
      const double more = i == j || related[j][i].item<bool>() ? 2 : 0;
      nearest_text = std::min(nearest_text, 1 - Cosine(texts[j], images[i]) + more);
    }
    total += std::max(0.0, right - nearest_image + margin) +
             std::max(0.0, right - nearest_text + margin);
  }
  return total / kTexts;
}

// Compares autograd with finite differences at every element of `x`.
void RequireGradient(const at::Tensor& x, double step, double tolerance,
                     const std::function<at::Tensor(const at::Tensor&)>& loss) {
  const at::Tensor leaf = x.detach().clone().set_requires_grad(true);
  loss(leaf).backward();
  for (int64_t i = 0; i < x.numel(); ++i) {
    const auto at_offset = [&](double offset) {
      at::Tensor moved = x.detach().clone();
      moved.view({-1})[i] += offset;
      return loss(moved).item<double>();
    };
    const double slope = (at_offset(step) - at_offset(-step)) / (2 * step);
    REQUIRE(leaf.grad().reshape({-1})[i].item<double>() == Approx(slope).margin(tolerance));
  }
}

TEST_CASE("the contrastive loss is that of the plain loops, with relatives left out") {
  const at::Tensor texts = UnitRows(kTexts, 1), images = UnitRows(kImages, 2);
  for (const double log_scale : {0.0, 2.5}) {
    const at::Tensor scale = at::full({}, log_scale, at::kDouble);
    const Loss loss = ContrastiveLoss(texts, images, Related(), scale);
    REQUIRE(loss.value.item<double>() ==
            Approx(SlowContrastive(texts, images, Related(), std::exp(log_scale))));
  }
}

TEST_CASE("the hinge loss is that of the plain loops") {
  const at::Tensor texts = UnitRows(kTexts, 1), images = UnitRows(kImages, 2);
  for (const double margin : {0.1, 0.7}) {
    REQUIRE(HingeLoss(texts, images, Related(), margin).value.item<double>() ==
            Approx(SlowHinge(texts, images, Related(), margin)));
  }
}

TEST_CASE("gradients of the bi-encoder losses are slopes") {
  const at::Tensor texts = UnitRows(kTexts, 1), images = UnitRows(kImages, 2);
  const at::Tensor scale = at::full({}, 1.5, at::kDouble);
  RequireGradient(texts, 1e-5, 1e-7, [&](const at::Tensor& x) {
    return ContrastiveLoss(x, images, Related(), scale).value;
  });
  RequireGradient(images, 1e-5, 1e-7, [&](const at::Tensor& x) {
    return ContrastiveLoss(texts, x, Related(), scale).value;
  });
  RequireGradient(scale, 1e-5, 1e-7, [&](const at::Tensor& x) {
    return ContrastiveLoss(texts, images, Related(), x).value;
  });
  RequireGradient(images, 1e-6, 1e-6,
                  [&](const at::Tensor& x) { return HingeLoss(texts, x, Related(), 0.3).value; });
}

TEST_CASE("a picture that is related to every other caption pulls and pushes nothing there") {
  const at::Tensor texts = UnitRows(kTexts, 1);
  const at::Tensor images = UnitRows(kImages, 2).set_requires_grad(true);
  at::Tensor related = at::zeros({kTexts, kImages}, at::kBool);
  related.select(1, 7).fill_(true);
  ContrastiveLoss(texts, images, related, at::zeros({}, at::kDouble)).value.backward();
  REQUIRE(images.grad()[7].abs().max().item<double>() == 0);
  REQUIRE(images.grad()[6].abs().max().item<double>() > 0);
}

TEST_CASE("how often the right answer came first does not count relatives") {
  const at::Tensor texts = at::eye(kSize, at::kDouble);
  at::Tensor images = at::eye(kSize, at::kDouble).clone();
  images[1] = images[0].clone();
  images[0] = -images[0];
  at::Tensor related = at::zeros({kSize, kSize}, at::kBool);
  const at::Tensor scale = at::zeros({}, at::kDouble);
  // Text 0 is nearest to image 1, and text 1 to none in particular.
  REQUIRE(ContrastiveLoss(texts, images, related, scale).first.item<double>() <= 0.75);
  related[0][1] = true;
  images = at::eye(kSize, at::kDouble).clone();
  images[1] = 0.9 * images[0] + 0.1 * images[1];
  images[0] = 0.8 * images[0];
  REQUIRE(HingeLoss(texts, images, related, 0.1).first.item<double>() == 1);
  REQUIRE(ContrastiveLoss(texts, images, related, scale).first.item<double>() == 1);
}

TEST_CASE("the listwise loss is a softmax over the candidates of each problem") {
  at::manual_seed(3);
  const at::Tensor logits = at::randn({3, 4, 2});
  double total = 0, first = 0;
  for (int64_t p = 0; p < 3; ++p) {
    double sum = 0, most = -1e9, right = 0;
    for (int64_t c = 0; c < 4; ++c) {
      const double score = logits[p][c][1].item<double>() - logits[p][c][0].item<double>();
      sum += std::exp(score);
      if (c == 0) right = score;
      most = std::max(most, score);
    }
    total -= right - std::log(sum);
    first += right == most;
  }
  const Loss loss = ListwiseLoss(logits);
  REQUIRE(loss.value.item<double>() == Approx(total / 3));
  REQUIRE(loss.first.item<double>() == Approx(first / 3));
  RequireGradient(logits, 1e-2, 2e-4, [](const at::Tensor& x) { return ListwiseLoss(x).value; });
}

TEST_CASE("the pairwise loss judges each pair by itself") {
  at::manual_seed(4);
  const at::Tensor logits = at::randn({3, 2, 2});
  double total = 0;
  for (int64_t p = 0; p < 3; ++p) {
    for (int64_t c = 0; c < 2; ++c) {
      const double no = logits[p][c][0].item<double>(), yes = logits[p][c][1].item<double>();
      const double label = c == 0 ? yes : no;
      total -= label - std::log(std::exp(no) + std::exp(yes));
    }
  }
  REQUIRE(PairwiseLoss(logits).value.item<double>() == Approx(total / 6));
  RequireGradient(logits, 1e-2, 2e-4, [](const at::Tensor& x) { return PairwiseLoss(x).value; });
}

}  // namespace
}  // namespace sightline
