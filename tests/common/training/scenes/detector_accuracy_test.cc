#include "common/training/scenes/detector_accuracy.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "common/scenes/proposals.h"
#include "common/training/scenes/region_classes.h"
#include "tests/common/training/scenes/scene_drawings.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

// Says the same of every region.
class StubbornDetector : public SceneDetector {
 public:
  StubbornDetector(int region_class, int tint, int size)
      : class_(region_class), tint_(tint), size_(size) {}

  absl::StatusOr<std::vector<SceneRegions>> Detect(
      absl::Span<const SceneView> views) const override {
    std::vector<SceneRegions> found;
    for (const SceneView& view : views) {
      SceneRegions regions;
      regions.proposals = view.proposals;
      regions.classes.assign(view.proposals.size(), class_);
      regions.tints.assign(view.proposals.size(), tint_);
      regions.sizes.assign(view.proposals.size(), size_);
      found.push_back(std::move(regions));
    }
    return found;
  }

 private:
  const int class_, tint_, size_;
};

DetectorAccuracy Measured(const SceneDetector& detector, SceneKind kind = SceneKind::kPlain,
                          int64_t pictures = 60) {
  static const auto* const drawings = new DrawingSet(MadeUpSceneDrawings());
  const auto accuracy =
      MeasureDetector(detector, *drawings, kind, pictures, 1, CallContext::Unbounded());
  INFO(accuracy.status().ToString());
  REQUIRE(accuracy.ok());
  return *accuracy;
}

TEST_CASE("a detector that sees nothing rejects all and knows no noun") {
  const DetectorAccuracy blind = Measured(StubbornDetector(kNothing, 0, 0));
  REQUIRE(blind.false_proposals == 60 * kFalseProposals);
  REQUIRE(blind.copies == 60 * (kProposals - kFalseProposals));
  REQUIRE(blind.rejected == blind.false_proposals);
  REQUIRE(blind.nouns == 0);
}

TEST_CASE("one that always says the same is right as often as that is so") {
  DetectorAccuracy sum;
  for (int tint = 0; tint < kTintCount; ++tint) {
    const DetectorAccuracy one =
        Measured(StubbornDetector(ClassOfNoun(7), tint, tint % kSizeCount));
    REQUIRE(one.rejected == 0);
    // Of 143 nouns.
    REQUIRE(one.nouns < one.copies / 20);
    sum.tints += one.tints;
    if (tint < kSizeCount) sum.sizes += one.sizes;
    sum.copies = one.copies;
  }
  // Each copy has one tint and one size.
  REQUIRE(sum.tints == sum.copies);
  REQUIRE(sum.sizes == sum.copies);
}

TEST_CASE("every noun is found by one that names it, in scenes of every kind") {
  for (const SceneKind kind :
       {SceneKind::kPlain, SceneKind::kNewDrawing, SceneKind::kNewCombination}) {
    REQUIRE(Measured(StubbornDetector(ClassOfNoun(0), 0, 0), kind, 200).nouns > 0);
    REQUIRE(Measured(StubbornDetector(ClassOfNoun(142), 0, 0), kind, 200).nouns > 0);
  }
}

TEST_CASE("measuring ends when it is not wanted any more") {
  const CallContext call = CallContext::Unbounded();
  call.cancellation()->Cancel();
  REQUIRE(absl::IsCancelled(MeasureDetector(StubbornDetector(0, 0, 0), MadeUpSceneDrawings(),
                                            SceneKind::kPlain, 1, 1, call)
                                .status()));
}

TEST_CASE("a line tells shares and of how many") {
  DetectorAccuracy accuracy;
  accuracy.copies = 8;
  accuracy.nouns = 6;
  accuracy.tints = 8;
  accuracy.sizes = 4;
  accuracy.false_proposals = 4;
  accuracy.rejected = 3;
  REQUIRE(AccuracyLine(SceneKind::kNewDrawing, accuracy) ==
          "new_drawing      nouns  75.0 %  tints 100.0 %  sizes  50.0 % of 8;  rejected  75.0 % of "
          "4");
}

}  // namespace
}  // namespace sightline
