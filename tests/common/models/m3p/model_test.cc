// M3P: positions over regions and text.
#include "common/models/model.h"

#include "tests/common/models/family_results.h"
#include "tests/common/models/m3p/tiny.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

TEST_CASE("M3P tells a text behind many regions from one behind few") {
  const TinyFamily family = TinyM3p();
  const auto model = MakeTinyModel(family);
  ImageInput few = TinyImage(family, 4), many = few;
  // The same region again: only positions differ.
  many.regions.count += 1;
  many.regions.features.insert(many.regions.features.end(), few.regions.features.begin(),
                               few.regions.features.begin() + 10);
  many.regions.boxes.insert(many.regions.boxes.end(), few.regions.boxes.begin(),
                            few.regions.boxes.begin() + 4);
  REQUIRE(Farthest(Seen(*model, "a bird", few), Seen(*model, "a bird", many)) > 1e-6);
}

}  // namespace
}  // namespace sightline
