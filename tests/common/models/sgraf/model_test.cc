// SGRAF: how many regions it reads.
#include "common/models/model.h"

#include "absl/strings/match.h"
#include "tests/common/models/family_results.h"
#include "tests/common/models/sgraf/tiny.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

const CallContext kCall = CallContext::Unbounded();

TEST_CASE("SGRAF refuses another number of regions than its own") {
  const TinyFamily saf = TinySaf();
  ImageInput short_of_one = TinyImage(saf, 1);
  short_of_one.regions.count = 4;
  short_of_one.regions.features.resize(40);
  short_of_one.regions.boxes.resize(16);
  const absl::Status status =
      MakeTinyModel(saf)->cross_encoder()->PrepareImages({short_of_one}, kCall).status();
  REQUIRE(absl::StrContains(status.message(), "reads exactly 5"));
}

}  // namespace
}  // namespace sightline
