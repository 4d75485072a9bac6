#include "common/training/objectives/tower_losses.h"

#include <ATen/ATen.h>

#include <limits>

namespace sightline {
namespace {

// Something of each text and what it is compared with, and of each of the first B images and
// what that is compared with; the right one is on the diagonal.
struct BothWays {
  at::Tensor to_images;  // B x (B + D + M)
  at::Tensor to_texts;   // B x (B + N)
};

// `pairs` B x (B + D).
BothWays OfPairs(const at::Tensor& pairs) {
  return {pairs, pairs.narrow(1, 0, pairs.size(0)).t()};
}

// Inner products times `scale`, unless that is undefined.
BothWays ScoresOf(const TowerRows& rows, const at::Tensor& scale) {
  const auto score = [&](const at::Tensor& a, const at::Tensor& b) {
    const at::Tensor products = at::matmul(InLossPrecision(a), InLossPrecision(b).t());
    return scale.defined() ? scale * products : products;
  };
  BothWays scores = OfPairs(score(rows.texts, rows.images));
  if (rows.hard_images.defined()) {
    scores.to_images = at::cat({scores.to_images, score(rows.texts, rows.hard_images)}, 1);
  }
  if (rows.hard_texts.defined()) {
    const at::Tensor images = rows.images.narrow(0, 0, rows.texts.size(0));
    scores.to_texts = at::cat({scores.to_texts, score(images, rows.hard_texts)}, 1);
  }
  return scores;
}

// `pairs` as wide as `scores`: nothing is known of hard ones.
at::Tensor Widened(const at::Tensor& pairs, const at::Tensor& scores) {
  at::Tensor all = at::zeros(scores.sizes(), scores.options().dtype(at::kBool));
  all.narrow(1, 0, pairs.size(1)).copy_(pairs);
  return all;
}

// Who is related to whom, as wide as `scores`.
BothWays RelatedOf(const at::Tensor& related, const BothWays& scores) {
  const int64_t count = scores.to_images.size(0);
  const BothWays known = OfPairs(
      related.defined() ? related
                        : at::zeros({count, count}, scores.to_images.options().dtype(at::kBool)));
  return {Widened(known.to_images, scores.to_images), Widened(known.to_texts, scores.to_texts)};
}

// Mean of -log softmax(rows)[i][i].
at::Tensor DiagonalCrossEntropy(const at::Tensor& rows) {
  return -at::log_softmax(rows, 1).diagonal().mean();
}

at::Tensor DiagonalFirst(const at::Tensor& rows) {
  return ShareOfFirst(rows, at::arange(rows.size(0), rows.options().dtype(at::kLong)));
}

// Both directions' cross-entropies, added up.
Loss SoftmaxLoss(const TowerRows& rows, const at::Tensor& scale) {
  const BothWays scores = ScoresOf(rows, scale), related = RelatedOf(rows.related, scores);
  constexpr float kNever = -std::numeric_limits<float>::infinity();
  const at::Tensor to_images = scores.to_images.masked_fill(related.to_images, kNever);
  const at::Tensor to_texts = scores.to_texts.masked_fill(related.to_texts, kNever);
  return {DiagonalCrossEntropy(to_images) + DiagonalCrossEntropy(to_texts),
          DiagonalFirst(to_images)};
}

// What the wrong ones of each row cost, B.
at::Tensor HingeCosts(const at::Tensor& scores, const at::Tensor& related, double margin,
                      WrongPairs wrong) {
  const at::Tensor itself =
      at::eye(scores.size(0), scores.size(1), related.options().dtype(at::kBool));
  const at::Tensor excluded = related.logical_or(itself).to(scores.scalar_type());
  const at::Tensor right = scores.diagonal().unsqueeze(1);
  const at::Tensor costs = (scores - excluded * 2 - right + margin).relu();
  return wrong == WrongPairs::kHardest ? costs.amax(1) : costs.sum(1);
}

Loss HingeOf(const BothWays& scores, const at::Tensor& related_pairs, double margin,
             WrongPairs wrong) {
  const BothWays related = RelatedOf(related_pairs, scores);
  const at::Tensor costs = HingeCosts(scores.to_images, related.to_images, margin, wrong) +
                           HingeCosts(scores.to_texts, related.to_texts, margin, wrong);
  constexpr float kNever = -std::numeric_limits<float>::infinity();
  return {costs, DiagonalFirst(scores.to_images.masked_fill(related.to_images, kNever))};
}

}  // namespace

Loss ContrastiveLoss(const TowerRows& rows, const at::Tensor& log_scale) {
  const Loss sum = SoftmaxLoss(rows, log_scale.defined() ? log_scale.exp() : log_scale);
  return {sum.value / 2, sum.first};
}

Loss DecomposedLoss(const TowerRows& rows, double temperature) {
  const at::ScalarType dtype = InLossPrecision(rows.texts).scalar_type();
  return SoftmaxLoss(rows, at::full({}, 1 / temperature, rows.texts.options().dtype(dtype)));
}

Loss HingeLoss(const TowerRows& rows, double margin, BatchReduction reduction) {
  const Loss costs = HingeOf(ScoresOf(rows, {}), rows.related, margin, WrongPairs::kHardest);
  return {reduction == BatchReduction::kSum ? costs.value.sum() : costs.value.mean(), costs.first};
}

Loss MatrixHingeLoss(const BatchScores& matrix, double margin, WrongPairs wrong) {
  const Loss costs =
      HingeOf(OfPairs(InLossPrecision(matrix.scores)), matrix.related, margin, wrong);
  return {costs.value.sum(), costs.first};
}

}  // namespace sightline
