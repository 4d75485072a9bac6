#include "common/training/step_window.h"

#include <ATen/ATen.h>

#include <algorithm>

namespace sightline {
namespace {

struct Means {
  double loss = 0;
  double first = 0;
  double norm = 0;
};

Means MeansOf(const std::vector<StepOutcome>& outcomes) {
  if (outcomes.empty()) return {};
  std::vector<at::Tensor> numbers;
  for (const StepOutcome& outcome : outcomes) {
    numbers.insert(numbers.end(), {outcome.loss, outcome.first, outcome.gradient_norm});
  }
  const at::Tensor means = at::stack(numbers).view({-1, 3}).mean(0).to(at::kCPU);
  const float* mean = means.data_ptr<float>();
  return {mean[0], mean[1], mean[2]};
}

double MeanConceptLoss(const std::vector<StepOutcome>& outcomes) {
  std::vector<at::Tensor> losses;
  for (const StepOutcome& outcome : outcomes) {
    if (outcome.concept_loss.defined()) losses.push_back(outcome.concept_loss);
  }
  return losses.empty() ? 0 : at::stack(losses).mean().item<double>();
}

}  // namespace

void StepWindow::Clear() {
  text_.clear();
  bi_.clear();
  cross_.clear();
  items_ = 0;
  paused_ = absl::ZeroDuration();
  start_ = clock_->Now();
}

void StepWindow::Add(const PlannedStep& planned, const StepOutcome& outcome) {
  const bool is_text = planned.stage == TrainingStage::kText;
  (is_text ? text_ : planned.cross ? cross_ : bi_).push_back(outcome);
  items_ += static_cast<double>(outcome.items);
}

void StepWindow::Report(StepReport* report) {
  const Means text = MeansOf(text_), bi = MeansOf(bi_), cross = MeansOf(cross_);
  const double steps = static_cast<double>(count());
  report->has_bi = !bi_.empty();
  report->has_cross = !cross_.empty();
  report->bi_loss = bi.loss;
  report->concept_loss = text_.empty() ? MeanConceptLoss(bi_) : text.loss;
  report->bi_accuracy = bi.first;
  report->cross_loss = cross.loss;
  report->cross_accuracy = cross.first;
  report->gradient_norm =
      (text.norm * static_cast<double>(text_.size()) + bi.norm * static_cast<double>(bi_.size()) +
       cross.norm * static_cast<double>(cross_.size())) /
      std::max(steps, 1.0);
  const absl::Duration busy = clock_->Now() - start_ - paused_;
  const double seconds = std::max(absl::ToDoubleSeconds(busy), 1e-6);
  report->items_per_second = items_ / seconds;
  report->remaining = absl::Seconds(seconds / std::max(steps, 1.0) *
                                    static_cast<double>(report->steps - report->step));
  Clear();
}

}  // namespace sightline
