#include "common/training/training_options.h"

#include <limits>

#include "absl/strings/match.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

TEST_CASE("the defaults are sound") {
  REQUIRE(CheckTrainingOptions(TrainingOptions()).ok());
}

TEST_CASE("every problem is told, with value and range") {
  TrainingOptions options;
  options.dropout = 1;
  options.bi.batch_size = 1;
  options.joint.rate.peak = std::numeric_limits<double>::quiet_NaN();
  options.joint.random_negatives = 8;
  options.validation.depth = 0;
  options.combination = "best";
  const absl::Status status = CheckTrainingOptions(options);
  REQUIRE(status.code() == absl::StatusCode::kInvalidArgument);
  for (const char* part : {"dropout is 1, not 0 to 0.9", "bi.batch_size is 1, not 2 to 65536",
                           "joint.rate.peak is nan", "joint.random_negatives is 8, more than",
                           "validation.depth is 0", "\"best\"", "or auto"}) {
    INFO(status << " lacks " << part);
    REQUIRE(absl::StrContains(status.message(), part));
  }
}

TEST_CASE("what would do nothing, or choose by what was learnt, is refused") {
  TrainingOptions nothing;
  nothing.bi.epochs = nothing.joint.epochs = 0;
  REQUIRE_FALSE(CheckTrainingOptions(nothing).ok());
  TrainingOptions cross_alone;
  cross_alone.joint.cross_steps_per_bi = 0;
  REQUIRE_FALSE(CheckTrainingOptions(cross_alone).ok());  // there are bi epochs
  cross_alone.bi.epochs = 0;
  REQUIRE(CheckTrainingOptions(cross_alone).ok());
  cross_alone.joint.freeze_grid = false;
  REQUIRE_FALSE(CheckTrainingOptions(cross_alone).ok());
  TrainingOptions all;
  all.with_validation = true;
  REQUIRE_FALSE(CheckTrainingOptions(all).ok());
  all.combination = "add_lambda";
  REQUIRE(CheckTrainingOptions(all).ok());
  all.combination_lambda = 1.5;
  REQUIRE_FALSE(CheckTrainingOptions(all).ok());
}

TEST_CASE("what the other loss of the bi-encoder reads is refused") {
  TrainingOptions contrastive;
  contrastive.bi.hinge_margin = 0.2;
  REQUIRE(absl::StrContains(CheckTrainingOptions(contrastive).message(), "bi.hinge_margin is set"));
  contrastive.bi.loss = BiLoss::kHinge;
  REQUIRE(CheckTrainingOptions(contrastive).ok());
  TrainingOptions hinge;
  hinge.bi.loss = BiLoss::kHinge;
  hinge.bi.initial_temperature = 0.05;
  REQUIRE(
      absl::StrContains(CheckTrainingOptions(hinge).message(), "bi.initial_temperature is set"));
  hinge.bi.loss = BiLoss::kContrastive;
  REQUIRE(CheckTrainingOptions(hinge).ok());
}

TEST_CASE("drops of the rate are for decay by steps, and that needs them") {
  TrainingOptions options;
  options.bi.rate.drop_every = 100;
  const absl::Status unread = CheckTrainingOptions(options);
  REQUIRE(absl::StrContains(unread.message(), "bi.rate.drop_every is 100, but only"));
  options.bi.rate.decay = DecayShape::kStep;
  REQUIRE(CheckTrainingOptions(options).ok());
  options.joint.rate.decay = DecayShape::kStep;
  const absl::Status missing = CheckTrainingOptions(options);
  REQUIRE(absl::StrContains(missing.message(), "joint.rate.drop_every is 0"));
}

TEST_CASE("a share of the peak at the end is for the decays that end at one") {
  TrainingOptions options;
  options.bi.rate.decay = DecayShape::kConstant;
  REQUIRE(CheckTrainingOptions(options).ok());
  options.bi.rate.final_share = 0.5;
  REQUIRE(absl::StrContains(CheckTrainingOptions(options).message(),
                            "bi.rate.final_share is 0.5, but only decays cosine and linear"));
  options.bi.rate.decay = DecayShape::kLinear;
  REQUIRE(CheckTrainingOptions(options).ok());
}

TEST_CASE("a rate falls with the root of its steps from a warm-up only") {
  TrainingOptions options;
  options.joint.rate.decay = DecayShape::kInverseRoot;
  REQUIRE(CheckTrainingOptions(options).ok());
  options.joint.rate.warmup_steps = 0;
  REQUIRE(absl::StrContains(CheckTrainingOptions(options).message(),
                            "joint.rate.warmup_steps is 0, but with decay inverse_root"));
}

TEST_CASE("a description tells options apart that give other weights") {
  const std::string text = DescribeTrainingOptions(TrainingOptions());
  REQUIRE(absl::StrContains(text, "joint.queries=16\n"));
  REQUIRE(absl::StrContains(text, "bi.loss=contrastive\n"));
  REQUIRE(absl::StrContains(text, "bi.rate.decay=cosine\n"));
  REQUIRE(absl::StrContains(text, "adamw.decays=matrices\n"));
  TrainingOptions other;
  other.adamw.beta2 = 0.99;
  REQUIRE(DescribeTrainingOptions(other) != text);
  TrainingOptions same;
  same.combination = "replace";
  same.validation.every = 1;
  REQUIRE(DescribeTrainingOptions(same) == text);
}

}  // namespace
}  // namespace sightline
