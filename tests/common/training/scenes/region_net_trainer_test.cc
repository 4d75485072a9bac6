#include "common/training/scenes/region_net_trainer.h"

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "common/training/scenes/detector_accuracy.h"
#include "tests/common/scenes/some_rasters.h"
#include "tests/common/training/scenes/scene_drawings.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

struct Fixture {
  Fixture() : drawings(MadeUpSceneDrawings()), progress(Quiet(), Clock::Real()) {
    job.drawings = &drawings;
    job.steps = 2;
    job.coloured_pictures = 2;
    job.tinted_pictures = 1;
  }
  static Progress::Options Quiet() {
    Progress::Options options;
    options.terminal = true;
    options.write = [](absl::string_view) {};
    return options;
  }
  absl::StatusOr<std::string> Train(const CallContext& call = CallContext::Unbounded()) {
    return TrainRegionNet(job, &progress, call);
  }

  const DrawingSet drawings;
  Progress progress;
  RegionNetJob job;
};

TEST_CASE("equal jobs give equal bytes, other seeds others") {
  Fixture of;
  const auto first = of.Train();
  INFO(first.status().ToString());
  REQUIRE(first.ok());
  REQUIRE(*of.Train() == *first);
  of.job.seed = 2;
  REQUIRE(*of.Train() != *first);
}

TEST_CASE("tints and what is nothing are soon learnt, and the net that is written knows them") {
  Fixture of;
  of.job.steps = 40;
  of.job.coloured_pictures = of.job.tinted_pictures = 3;
  const auto weights = of.Train();
  INFO(weights.status().ToString());
  REQUIRE(weights.ok());
  const auto detector = SceneDetector::FromBytes(*weights);
  INFO(detector.status().ToString());
  REQUIRE(detector.ok());
  const auto accuracy = MeasureDetector(**detector, of.drawings, SceneKind::kPlain, 16, /*seed=*/9,
                                        CallContext::Unbounded());
  REQUIRE(accuracy.ok());
  INFO(AccuracyLine(SceneKind::kPlain, *accuracy));
  // By chance one in eight, and one in 144.
  REQUIRE(accuracy->tints > accuracy->copies / 2);
  REQUIRE(accuracy->rejected > accuracy->false_proposals / 2);
}

TEST_CASE("a run ends when it is not wanted any more") {
  Fixture of;
  const CallContext call = CallContext::Unbounded();
  call.cancellation()->Cancel();
  REQUIRE(absl::IsCancelled(of.Train(call).status()));
}

TEST_CASE("other drawings than the lock's are refused") {
  Fixture of;
  const DrawingSet others = SomeDrawings();
  of.job.drawings = &others;
  const absl::Status status = of.Train().status();
  REQUIRE(absl::IsInvalidArgument(status));
  REQUIRE_THAT(std::string(status.message()), Catch::Contains("494 drawings, and there are 3"));
}

}  // namespace
}  // namespace sightline
