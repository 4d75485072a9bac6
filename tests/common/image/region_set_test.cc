#include "common/image/region_set.h"

#include <cmath>

#include "tests/support/catch.h"

namespace sightline {
namespace {

RegionSet Good() {
  RegionSet regions;
  regions.count = 2;
  regions.feature_size = 3;
  regions.features = {1, 2, 3, 4, 5, 6};
  regions.boxes = {0, 0, 0.5f, 1.0005f, 0.25f, 0.5f, 1, 1};
  regions.box_sizes = {0.5f, 1, 0.7505f, 0.4995f};
  regions.confidences = {1, 0};
  return regions;
}

std::string ProblemOf(void (*spoil)(RegionSet&)) {
  RegionSet regions = Good();
  spoil(regions);
  const absl::Status status = CheckRegionSet(regions);
  REQUIRE((status.ok() || absl::IsInvalidArgument(status)));
  return std::string(status.message());
}

TEST_CASE("good regions pass, with and without boxes, their sizes and confidences") {
  REQUIRE(ProblemOf([](RegionSet&) {}) == "");
  REQUIRE(ProblemOf([](RegionSet& r) { r.box_sizes.clear(); }) == "");
  REQUIRE(ProblemOf([](RegionSet& r) {
            r.boxes.clear();
            r.box_sizes.clear();
            r.confidences.clear();
          }) == "");
}

TEST_CASE("regions that cannot be are refused, and pixels are named") {
  const struct {
    void (*spoil)(RegionSet&);
    const char* said;
  } kCases[] = {
      {[](RegionSet& r) { r.count = 0; }, "no regions"},
      {[](RegionSet& r) { r.count = 3; }, "6 feature values for 3"},
      {[](RegionSet& r) { r.feature_size = 0; }, "features of 0"},
      {[](RegionSet& r) { r.boxes.pop_back(); }, "7 box coordinates"},
      {[](RegionSet& r) { r.confidences.pop_back(); }, "1 confidences"},
      {[](RegionSet& r) { r.features[2] = NAN; }, "not a finite"},
      {[](RegionSet& r) { r.features[5] = INFINITY; }, "not a finite"},
      {[](RegionSet& r) { r.boxes[6] = 640; }, "640 at region 1, which looks like pixels"},
      {[](RegionSet& r) { r.boxes[1] = -0.1f; }, "-0.1 at region 0;"},
      {[](RegionSet& r) { r.boxes[1] = NAN; }, "nan"},
      {[](RegionSet& r) { r.boxes[4] = 1.005f; }, "from 1.005 to 1 at region 1"},
      {[](RegionSet& r) { r.boxes[5] = 1.005f; }, "from 1.005 to 1 at region 1"},
      {[](RegionSet& r) { r.box_sizes.pop_back(); }, "3 box sizes"},
      {[](RegionSet& r) { r.boxes.clear(); }, "not the boxes"},
      {[](RegionSet& r) { r.box_sizes[1] = 0.9f; }, "height 0.9 at region 0, whose corners are 1"},
      {[](RegionSet& r) { r.box_sizes[2] = 480; }, "width 480 at region 1"},
      {[](RegionSet& r) { r.box_sizes[3] = NAN; }, "height nan"},
      {[](RegionSet& r) { r.confidences[1] = 2; }, "confidence 2"},
      {[](RegionSet& r) { r.confidences[1] = NAN; }, "confidence"},
  };
  for (const auto& test : kCases) {
    REQUIRE_THAT(ProblemOf(test.spoil), Catch::Contains(test.said));
  }
}

TEST_CASE("sizes are held to the limit without overflow") {
  REQUIRE(CheckRegionSizes(36, 2048, 36 * 2048 * 4).ok());
  REQUIRE_FALSE(CheckRegionSizes(36, 2048, 36 * 2048 * 4 - 1).ok());
  REQUIRE_FALSE(CheckRegionSizes(INT64_MAX, 2048, INT64_MAX).ok());
  REQUIRE_FALSE(CheckRegionSizes(1, INT64_MAX, INT64_MAX).ok());
}

TEST_CASE("soft labels are rows of probabilities that add up to 1") {
  // Its logarithm is taken.
  REQUIRE_FALSE(CheckSoftLabels(std::vector<float>{1.005f, -0.005f}, 2).ok());
  REQUIRE(CheckSoftLabels({0.25f, 0.75f, 1, 0}, 2).ok());
  REQUIRE(CheckSoftLabels({0.25f, 0.7451f}, 2).ok());
  REQUIRE(CheckSoftLabels({}, 2).ok());
  for (const std::vector<float>& bad : std::vector<std::vector<float>>{{0.5f},
                                                                       {0.5f, 0.5f, 1},
                                                                       {0.5f, 0.25f},
                                                                       {0.75f, 0.75f},
                                                                       {2, -1},
                                                                       {NAN, 1},
                                                                       {INFINITY, 0}}) {
    REQUIRE(absl::IsInvalidArgument(CheckSoftLabels(bad, 2)));
  }
  REQUIRE(absl::IsInvalidArgument(CheckSoftLabels({1}, 0)));
}

}  // namespace
}  // namespace sightline
