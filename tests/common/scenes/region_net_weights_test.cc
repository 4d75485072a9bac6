#include "common/scenes/region_net_weights.h"

#include "common/base/files.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

TEST_CASE("programs carry the committed weights, byte for byte") {
  const auto weights = RegionNetWeights();
  INFO(weights.status().ToString());
  REQUIRE(weights.ok());
  REQUIRE(*weights == *ReadFile("common/scenes/region_net.safetensors"));
  // What the tree has room for.
  REQUIRE(weights->size() <= 900'000);
}

}  // namespace
}  // namespace sightline
