#include "common/training/run_checkpoint.h"

#include <ATen/ATen.h>

#include <limits>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

TEST_CASE("a run is taken up where its newest checkpoint was") {
  const TempDir dir;
  const auto none = FindCheckpoint(dir.path(), "a=1\n", nullptr);
  REQUIRE(none.ok());
  REQUIRE_FALSE(none->has_value());
  REQUIRE_FALSE((*FindCheckpoint("", "a=1\n", nullptr)).has_value());

  TrainingCheckpoint checkpoint = CheckpointOf("a=1\n", {7, {7, 3}});
  checkpoint.tensors["weights/x"] = at::ones({2});
  REQUIRE(WriteCheckpoint(dir.path(), 7, checkpoint).ok());
  const auto found = FindCheckpoint(dir.path(), "a=1\n", nullptr);
  REQUIRE(found.ok());
  REQUIRE(found->has_value());
  const auto place = PlaceOf(**found, dir.path(), /*steps=*/7, /*groups=*/2);
  REQUIRE(place.ok());
  REQUIRE(place->step == 7);
  REQUIRE(place->step_counts == std::vector<int64_t>{7, 3});

  const absl::Status other = FindCheckpoint(dir.path(), "a=2\n", nullptr).status();
  REQUIRE(other.code() == absl::StatusCode::kFailedPrecondition);
  REQUIRE(absl::StrContains(other.message(), "a: 1 then, 2 now"));
}

TEST_CASE("a place that no such run can be at is refused, with the folder") {
  const auto refused = [](const RunPlace& place) {
    const absl::Status status = PlaceOf(CheckpointOf("", place), "run/7", 10, 2).status();
    return status.code() == absl::StatusCode::kDataLoss &&
           absl::StrContains(status.message(), "run/7");
  };
  REQUIRE_FALSE(refused({10, {1, 1}}));
  REQUIRE(refused({11, {1, 1}}));
  REQUIRE(refused({0, {1, 1}}));
  REQUIRE(refused({5, {1}}));
  REQUIRE(refused({5, {1, -1}}));
  REQUIRE(PlaceOf(TrainingCheckpoint(), "run", 10, 2).status().code() ==
          absl::StatusCode::kDataLoss);
}

TEST_CASE("a gradient that is no number is told with its step") {
  REQUIRE(CheckGradient(at::full({}, 2.0), 3).ok());
  const double none = std::numeric_limits<double>::quiet_NaN();
  REQUIRE(absl::StrContains(CheckGradient(at::full({}, none), 3).message(), "at step 3"));
}

}  // namespace
}  // namespace sightline
