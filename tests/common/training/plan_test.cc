#include "common/training/plan.h"

#include <vector>

#include "tests/support/catch.h"

namespace sightline {
namespace {

TEST_CASE("the rate rises to its peak in the warm-up and falls to its final share") {
  RateOptions options;
  options.peak = 2;
  options.warmup_steps = 4;
  options.final_share = 0.25;
  for (const DecayShape shape : {DecayShape::kCosine, DecayShape::kLinear}) {
    options.decay = shape;
    REQUIRE(RateAt(options, 0, 24) == Approx(0.5));
    REQUIRE(RateAt(options, 3, 24) == Approx(2));
    REQUIRE(RateAt(options, 4, 24) == Approx(2));
    REQUIRE(RateAt(options, 14, 24) == Approx((2 + 0.5) / 2));  // both shapes cross halfway
    REQUIRE(RateAt(options, 24, 24) == Approx(0.5));
    for (int64_t step = 5; step < 24; ++step) {
      REQUIRE(RateAt(options, step, 24) < RateAt(options, step - 1, 24));
    }
  }
  options.decay = DecayShape::kLinear;
  REQUIRE(RateAt(options, 9, 24) == Approx(2 - 1.5 / 4));
  options.warmup_steps = 0;
  REQUIRE(RateAt(options, 0, 24) == Approx(2));
  options.warmup_steps = 100;  // longer than the stage: it never gets there
  REQUIRE(RateAt(options, 23, 24) == Approx(0.48));
}

TEST_CASE("a rate that falls with the root of its steps begins to where they were the warm-up's") {
  RateOptions options;
  options.peak = 2;
  options.warmup_steps = 4;
  options.decay = DecayShape::kInverseRoot;
  REQUIRE(RateAt(options, 1, 24) == Approx(1));
  REQUIRE(RateAt(options, 3, 24) == Approx(2));
  REQUIRE(RateAt(options, 15, 24) == Approx(1));
  REQUIRE(RateAt(options, 15, 1000) == Approx(1));
  REQUIRE(RateAt(options, 399, 1000) == Approx(0.2));
}

TEST_CASE("a constant rate stays at its peak, and one by steps drops by its factor") {
  RateOptions options;
  options.peak = 2;
  options.warmup_steps = 4;
  options.decay = DecayShape::kConstant;
  REQUIRE(RateAt(options, 1, 24) == Approx(1));
  for (const int64_t step : {4, 13, 23}) REQUIRE(RateAt(options, step, 24) == 2);
  options.decay = DecayShape::kStep;
  options.drop_every = 10;
  options.drop_factor = 0.5;
  // Steps are counted from the stage's first one, whatever the warm-up.
  REQUIRE(RateAt(options, 3, 24) == Approx(2));
  REQUIRE(RateAt(options, 9, 24) == 2);
  REQUIRE(RateAt(options, 10, 24) == 1);
  REQUIRE(RateAt(options, 19, 24) == 1);
  REQUIRE(RateAt(options, 20, 24) == 0.5);
}

TrainingOptions Options() {
  TrainingOptions options;
  options.bi.epochs = 2;
  options.joint.epochs = 3;
  options.joint.cross_steps_per_bi = 2;
  options.joint.bi_rate_share = 0.5;
  return options;
}

TEST_CASE("a joint stage is cycles of a bi step and its cross steps") {
  const TrainingPlan plan(Options(), /*text_steps_per_epoch=*/7, /*bi_steps_per_epoch=*/3,
                          /*cross_steps_per_epoch=*/5);
  REQUIRE(plan.has_joint_stage());
  REQUIRE(plan.steps() == 6 + 15 + 8);
  int64_t bi = 0, cross = 0;
  for (int64_t at = 0; at < plan.steps(); ++at) {
    const PlannedStep planned = plan.At(at);
    REQUIRE((planned.stage == TrainingStage::kBi) == (at < 6));
    REQUIRE(planned.step == (at < 6 ? at : at - 6));
    REQUIRE(planned.steps == (at < 6 ? 6 : 23));
    REQUIRE(planned.cross == (at >= 6 && (at - 6) % 3 > 0));
    REQUIRE(planned.cross_before == cross);
    // Numbers run through the whole training, one after another.
    REQUIRE(planned.number == (planned.cross ? cross++ : bi++));
    const double rate =
        RateAt(at < 6 ? Options().bi.rate : Options().joint.rate, planned.step, planned.steps);
    REQUIRE(planned.rate == Approx(at >= 6 && !planned.cross ? rate / 2 : rate));
  }
  REQUIRE(cross == 15);
  REQUIRE(plan.EpochAfter(plan.At(5)) == Approx(2));
  REQUIRE(plan.EpochAfter(plan.At(plan.steps() - 1)) == Approx(3));
}

TEST_CASE("a text stage comes first and shifts nothing else") {
  TrainingOptions options = Options();
  const TrainingPlan without(options, /*text_steps_per_epoch=*/7, /*bi_steps_per_epoch=*/3, 5);
  options.text.epochs = 2;
  const TrainingPlan plan(options, /*text_steps_per_epoch=*/7, /*bi_steps_per_epoch=*/3, 5);
  REQUIRE(plan.steps() == 14 + without.steps());
  for (int64_t at = 0; at < 14; ++at) {
    const PlannedStep planned = plan.At(at);
    REQUIRE(planned.stage == TrainingStage::kText);
    REQUIRE_FALSE(planned.cross);
    REQUIRE(planned.number == at);
    REQUIRE(planned.steps == 14);
    REQUIRE(planned.rate == Approx(RateAt(options.text.rate, at, 14)));
    REQUIRE(plan.EpochAfter(planned) == Approx((at + 1) / 7.0));
  }
  for (int64_t at = 0; at < without.steps(); ++at) {
    const PlannedStep planned = plan.At(14 + at), same = without.At(at);
    REQUIRE(planned.stage == same.stage);
    REQUIRE(planned.cross == same.cross);
    REQUIRE(planned.number == same.number);
    REQUIRE(planned.rate == same.rate);
  }
}

TEST_CASE("without bi steps all are cross steps") {
  TrainingOptions options = Options();
  options.bi.epochs = 0;
  options.joint.cross_steps_per_bi = 0;
  const TrainingPlan plan(options, /*text_steps_per_epoch=*/7, /*bi_steps_per_epoch=*/3,
                          /*cross_steps_per_epoch=*/5);
  REQUIRE(plan.steps() == 15);
  for (int64_t at = 0; at < 15; ++at) {
    const PlannedStep planned = plan.At(at);
    REQUIRE(planned.stage == TrainingStage::kJoint);
    REQUIRE(planned.cross);
    REQUIRE(planned.number == at);
    REQUIRE(planned.cross_before == at);
    REQUIRE(planned.rate == Approx(RateAt(options.joint.rate, at, 15)));
    REQUIRE(plan.EpochAfter(planned) == Approx((at + 1) / 5.0));
    REQUIRE(plan.EndsPeriod(planned, 1) == (at % 5 == 4));
  }
}

TEST_CASE("periods end with epochs of the stage's own kind, and with the stage") {
  const TrainingPlan plan(Options(), 7, 3, 5);
  std::vector<int64_t> ends, only_stages, begins;
  for (int64_t at = 0; at < plan.steps(); ++at) {
    if (plan.EndsPeriod(plan.At(at), 1)) ends.push_back(at);
    if (plan.EndsPeriod(plan.At(at), 0)) only_stages.push_back(at);
    if (plan.BeginsCrossPeriod(plan.At(at), 2)) begins.push_back(at);
  }
  // Joint steps from 6 on: B C C  B C C  B C C ...; the 5th, 10th and 15th cross steps.
  REQUIRE(ends == std::vector<int64_t>{2, 5, 13, 20, 28});
  REQUIRE(only_stages == std::vector<int64_t>{5, 28});
  REQUIRE(begins == std::vector<int64_t>{7, 22});
  REQUIRE(plan.CrossPeriod(plan.At(6), 2) == 0);
  REQUIRE(plan.CrossPeriod(plan.At(22), 2) == 1);
}

}  // namespace
}  // namespace sightline
