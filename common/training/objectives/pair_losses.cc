#include "common/training/objectives/pair_losses.h"

#include <ATen/ATen.h>

namespace sightline {
namespace {

// Match minus no match.
at::Tensor MatchScores(const at::Tensor& logits) {
  const at::Tensor x = InLossPrecision(logits);
  return x.size(-1) == 1 ? x.select(-1, 0) : x.select(-1, 1) - x.select(-1, 0);
}

at::Tensor ProblemFirst(const at::Tensor& scores) {
  return ShareOfFirst(scores, at::zeros({1}, scores.options().dtype(at::kLong)));
}

// log(1 + e^-x), of a match, and log(1 + e^x), of none: minus the logarithm of the
// probability of what is so.
at::Tensor BinaryCrossEntropy(const at::Tensor& scores, const at::Tensor& matches) {
  return at::softplus(at::where(matches, -scores, scores));
}

}  // namespace

Loss ListwiseLoss(const at::Tensor& logits) {
  const at::Tensor scores = MatchScores(logits);
  return {-at::log_softmax(scores, 1).select(1, 0).mean(), ProblemFirst(scores)};
}

Loss PairwiseLoss(const at::Tensor& logits) {
  const at::Tensor scores = MatchScores(logits);
  at::Tensor matches = at::zeros(scores.sizes(), scores.options().dtype(at::kBool));
  matches.select(1, 0).fill_(true);
  return {BinaryCrossEntropy(scores, matches).mean(), ProblemFirst(scores)};
}

Loss MatchingLoss(const at::Tensor& logits, const at::Tensor& matches) {
  const at::Tensor scores = MatchScores(logits), labels = matches.to(at::kBool);
  const at::Tensor told = scores.detach().gt(0).eq(labels).to(at::kFloat);
  return {MeanOfRows(BinaryCrossEntropy(scores, labels)), MeanOfRows(told)};
}

Loss SigmoidHingeLoss(const at::Tensor& logits, double margin) {
  const at::Tensor scores = MatchScores(logits);
  const at::Tensor sure = scores.sigmoid();
  const at::Tensor wrong = sure.narrow(1, 1, sure.size(1) - 1);
  return {(wrong - sure.narrow(1, 0, 1) + margin).relu().mean(), ProblemFirst(scores)};
}

}  // namespace sightline
