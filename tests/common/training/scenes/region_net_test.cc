#include "common/training/scenes/region_net.h"

#include <ATen/ATen.h>

#include <cmath>
#include <string>
#include <vector>

#include "common/models/network/weights.h"
#include "common/training/scenes/region_classes.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

at::Tensor SomeCrops(int64_t count) {
  at::manual_seed(1);
  return at::randint(0, 256, {count, 3, 32, 32}).to(at::kByte);
}
at::Tensor SomeBoxes(int64_t count) {
  at::manual_seed(2);
  return at::rand({count, 2}) * 0.25;
}

// A net with norms that have seen something.
RegionNet LearntNet() {
  RegionNet net(/*norms=*/true);
  REQUIRE(RandomizeWeights(3, net.get()).ok());
  net->train();
  for (int i = 0; i < 3; ++i) net->forward(SomeCrops(8) / (i + 1), SomeBoxes(8));
  at::NoGradGuard no_grad;
  for (auto& item : net->named_parameters()) {
    if (item.value().dim() == 1) item.value().add_(0.3 * at::randn_like(item.value()));
  }
  net->eval();
  return net;
}

TEST_CASE("a folded net gives what it gave with its norms") {
  const at::NoGradGuard no_grad;
  RegionNet net = LearntNet();
  RegionNet folded = net.Folded();
  REQUIRE(folded->named_buffers().size() == 0);
  const RegionSight before = net->forward(SomeCrops(6), SomeBoxes(6));
  const RegionSight after = folded->forward(SomeCrops(6), SomeBoxes(6));
  REQUIRE(at::allclose(after.features, before.features, 1e-4, 1e-5));
  REQUIRE(at::allclose(after.nouns, before.nouns, 1e-4, 1e-5));
  REQUIRE(at::allclose(after.tints, before.tints, 1e-4, 1e-5));
  REQUIRE(at::allclose(after.sizes, before.sizes, 1e-4, 1e-5));
  REQUIRE(before.features.std().item<double>() > 0.1);
}

TEST_CASE("features and logits have the sizes that files have, and do not depend on neighbours") {
  const at::NoGradGuard no_grad;
  RegionNet net = LearntNet();
  const RegionSight all = net->forward(SomeCrops(5), SomeBoxes(5));
  REQUIRE(all.features.size(1) == kRegionFeatures);
  REQUIRE(all.nouns.size(1) == kRegionClasses);
  REQUIRE(all.features.abs().max().item<double>() <= 1);
  const RegionSight one = net->forward(SomeCrops(5).narrow(0, 3, 1), SomeBoxes(5).narrow(0, 3, 1));
  REQUIRE(at::allclose(one.features[0], all.features[3], 1e-4, 1e-5));
}

TEST_CASE("the box is seen as well as the crop") {
  const at::NoGradGuard no_grad;
  RegionNet net = LearntNet();
  const at::Tensor near = net->forward(SomeCrops(1), SomeBoxes(1)).features;
  REQUIRE_FALSE(at::allclose(net->forward(SomeCrops(1), SomeBoxes(1) * 2).features, near, 1e-3));
}

TEST_CASE("dropout is for learning alone") {
  const at::NoGradGuard no_grad;
  RegionNet net = LearntNet();
  const at::Tensor plain = net->forward(SomeCrops(2), SomeBoxes(2)).nouns;
  REQUIRE(net->forward(SomeCrops(2), SomeBoxes(2), 0.5).nouns.equal(plain));
}

}  // namespace
}  // namespace sightline
