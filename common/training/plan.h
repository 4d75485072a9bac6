// What each step of a run is: its stage, its kind, its number and its rate.
#ifndef SIGHTLINE_COMMON_TRAINING_PLAN_H_
#define SIGHTLINE_COMMON_TRAINING_PLAN_H_

#include <cstdint>

#include "common/training/joint_trainer.h"
#include "common/training/schedule.h"
#include "common/training/training_options.h"

namespace sightline {

struct PlannedStep {
  TrainingStage stage = TrainingStage::kBi;
  int64_t step = 0;    // in the stage, from 0
  int64_t steps = 0;   // of the stage
  bool cross = false;  // else a bi step
  int64_t number = 0;  // among the run's steps of its kind, from 0
  // Cross steps before this one.
  int64_t cross_before = 0;
  double rate = 0;
};

// Immutable.
class TrainingPlan {
 public:
  // Steps per epoch are at least 1.
  TrainingPlan(const TrainingOptions& options, int64_t text_steps_per_epoch,
               int64_t bi_steps_per_epoch, int64_t cross_steps_per_epoch)
      : text_(options.text),
        bi_(options.bi),
        joint_(options.joint),
        text_epoch_(text_steps_per_epoch),
        bi_epoch_(bi_steps_per_epoch),
        cross_epoch_(cross_steps_per_epoch) {
    text_steps_ = text_.epochs * text_epoch_;
    bi_steps_ = bi_.epochs * bi_epoch_;
    const int64_t cross = joint_.epochs * cross_epoch_;
    const int64_t per_cycle = joint_.cross_steps_per_bi;
    joint_steps_ = per_cycle == 0 ? cross : cross + (cross + per_cycle - 1) / per_cycle;
  }

  bool has_joint_stage() const { return joint_steps_ > 0; }
  int64_t steps() const { return text_steps_ + bi_steps_ + joint_steps_; }

  // Step `at` of the run, from 0.
  PlannedStep At(int64_t at) const {
    PlannedStep planned;
    if (at < text_steps_) {
      planned.stage = TrainingStage::kText;
      planned.step = planned.number = at;
      planned.steps = text_steps_;
      planned.rate = RateAt(text_.rate, at, text_steps_);
      return planned;
    }
    at -= text_steps_;
    if (at < bi_steps_) {
      planned.step = planned.number = at;
      planned.steps = bi_steps_;
      planned.rate = RateAt(bi_.rate, at, bi_steps_);
      return planned;
    }
    planned.stage = TrainingStage::kJoint;
    planned.step = at - bi_steps_;
    planned.steps = joint_steps_;
    if (joint_.cross_steps_per_bi == 0) {
      planned.cross = true;
      planned.number = planned.cross_before = planned.step;
      planned.rate = RateAt(joint_.rate, planned.step, joint_steps_);
      return planned;
    }
    // A cycle is a bi step and then its cross steps.
    const int64_t length = joint_.cross_steps_per_bi + 1;
    const int64_t cycle = planned.step / length, place = planned.step % length;
    planned.cross = place > 0;
    planned.cross_before = cycle * joint_.cross_steps_per_bi + (place > 0 ? place - 1 : 0);
    planned.number = planned.cross ? planned.cross_before : bi_steps_ + cycle;
    planned.rate = RateAt(joint_.rate, planned.step, joint_steps_);
    if (!planned.cross) planned.rate *= joint_.bi_rate_share;
    return planned;
  }

  // Epochs of the stage's own kind that are done when `done` is.
  double EpochAfter(const PlannedStep& done) const {
    if (done.stage == TrainingStage::kText) return static_cast<double>(done.step + 1) / text_epoch_;
    if (done.stage == TrainingStage::kBi) return static_cast<double>(done.step + 1) / bi_epoch_;
    return static_cast<double>(done.cross_before + (done.cross ? 1 : 0)) / cross_epoch_;
  }

  // Whether `every` more epochs of the stage's kind end with `done`, or the stage does.
  bool EndsPeriod(const PlannedStep& done, int64_t every) const {
    if (done.step + 1 == done.steps) return true;
    const bool counts = done.cross == (done.stage == TrainingStage::kJoint);
    const int64_t epoch = done.stage == TrainingStage::kText ? text_epoch_
                          : done.cross                       ? cross_epoch_
                                                             : bi_epoch_;
    return every > 0 && counts && (done.number + 1) % (every * epoch) == 0;
  }

  // The number of the period of `every` cross epochs that `planned` is in.
  int64_t CrossPeriod(const PlannedStep& planned, int64_t every) const {
    return planned.cross_before / (every * cross_epoch_);
  }
  // Whether `planned` is the first cross step of such a period.
  bool BeginsCrossPeriod(const PlannedStep& planned, int64_t every) const {
    return planned.cross && planned.number % (every * cross_epoch_) == 0;
  }

 private:
  const TextOptions text_;
  const BiOptions bi_;
  const JointOptions joint_;
  const int64_t text_epoch_, bi_epoch_, cross_epoch_;
  int64_t text_steps_ = 0, bi_steps_ = 0, joint_steps_ = 0;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_TRAINING_PLAN_H_
