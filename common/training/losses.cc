#include "common/training/losses.h"

#include <ATen/ATen.h>

#include <limits>

namespace sightline {
namespace {

// Mean of -log softmax(rows)[i][i]; rows B x N, N >= B.
at::Tensor DiagonalCrossEntropy(const at::Tensor& rows) {
  return -at::log_softmax(rows, 1).diagonal().mean();
}

// Share of rows whose largest number is the one at `column`.
at::Tensor ShareOfFirst(const at::Tensor& rows, const at::Tensor& column) {
  return rows.detach().argmax(1).eq(column).to(at::kFloat).mean();
}

at::Tensor DiagonalFirst(const at::Tensor& rows) {
  return ShareOfFirst(rows, at::arange(rows.size(0), rows.options().dtype(at::kLong)));
}

at::Tensor ProblemFirst(const at::Tensor& scores) {
  return ShareOfFirst(scores, at::zeros({1}, scores.options().dtype(at::kLong)));
}

at::Tensor MatchMargin(const at::Tensor& logits) {
  return logits.select(2, 1) - logits.select(2, 0);
}

}  // namespace

Loss ContrastiveLoss(const at::Tensor& texts, const at::Tensor& images, const at::Tensor& related,
                     const at::Tensor& log_scale) {
  const at::Tensor scores = (log_scale.exp() * at::matmul(texts, images.t()))
                                .masked_fill(related, -std::numeric_limits<float>::infinity());
  const at::Tensor to_texts = scores.narrow(1, 0, texts.size(0)).t();
  return {(DiagonalCrossEntropy(scores) + DiagonalCrossEntropy(to_texts)) / 2,
          DiagonalFirst(scores)};
}

Loss HingeLoss(const at::Tensor& texts, const at::Tensor& images, const at::Tensor& related,
               double margin) {
  const int64_t count = texts.size(0);
  const at::Tensor distances = 1 - at::matmul(texts, images.t());
  const at::Tensor right = distances.diagonal();
  const at::Tensor excluded =
      related.logical_or(at::eye(count, images.size(0), related.options().dtype(at::kBool)));
  const at::Tensor wrong = distances + excluded.to(distances.scalar_type()) * 2;
  const at::Tensor nearest_image = wrong.amin(1);
  const at::Tensor nearest_text = wrong.narrow(1, 0, count).amin(0);
  const at::Tensor loss =
      (right - nearest_image + margin).relu() + (right - nearest_text + margin).relu();
  const at::Tensor scores = (-distances).masked_fill(related, -4.0);
  return {loss.mean(), DiagonalFirst(scores)};
}

Loss ListwiseLoss(const at::Tensor& logits) {
  const at::Tensor scores = MatchMargin(logits.to(at::kFloat));
  return {-at::log_softmax(scores, 1).select(1, 0).mean(), ProblemFirst(scores)};
}

Loss PairwiseLoss(const at::Tensor& logits) {
  const at::Tensor classes = at::log_softmax(logits.to(at::kFloat), 2);
  const at::Tensor right = classes.select(2, 1).narrow(1, 0, 1);
  const at::Tensor wrong = classes.select(2, 0).narrow(1, 1, logits.size(1) - 1);
  return {-at::cat({right, wrong}, 1).mean(), ProblemFirst(MatchMargin(logits))};
}

}  // namespace sightline
