#include "common/training/objectives/prediction_losses.h"

#include <ATen/ATen.h>

namespace sightline {
namespace {

// KL(p || softmax(logits)) of each row, mean over rows.  xlogy: what has no probability adds
// nothing.
at::Tensor Divergence(const at::Tensor& p, const at::Tensor& logits, ClassReduction reduction) {
  const at::Tensor sum = MeanOfRows(at::xlogy(p, p) - p * at::log_softmax(logits, 1));
  return reduction == ClassReduction::kMean ? sum / logits.size(1) : sum;
}

}  // namespace

Loss MaskedTokenLoss(const Predictions& tokens) {
  const at::Tensor logits = InLossPrecision(tokens.predicted);
  const at::Tensor right = at::log_softmax(logits, 1).gather(1, tokens.targets.unsqueeze(1));
  return {-MeanOfRows(right), ShareOfFirst(logits, tokens.targets)};
}

Loss RegionFeatureLoss(const Predictions& features) {
  const at::Tensor off = InLossPrecision(features.predicted) - InLossPrecision(features.targets);
  return {MeanOfRows(off.square()) / off.size(1), {}};
}

Loss RegionClassLoss(const Predictions& classes, ClassReduction reduction) {
  const at::Tensor logits = InLossPrecision(classes.predicted);
  const at::Tensor labels = InLossPrecision(classes.targets);
  return {Divergence(labels, logits, reduction), ShareOfFirst(logits, labels.argmax(1))};
}

Loss DistillationLoss(const Predictions& scores, double temperature, ClassReduction reduction) {
  const at::Tensor student = InLossPrecision(scores.predicted);
  const at::Tensor teacher = InLossPrecision(scores.targets).detach();
  const at::Tensor wished = at::softmax(teacher / temperature, 1);
  return {Divergence(wished, student / temperature, reduction) * (temperature * temperature),
          ShareOfFirst(student, teacher.argmax(1))};
}

}  // namespace sightline
