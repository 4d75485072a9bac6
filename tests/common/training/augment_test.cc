#include "common/training/augment.h"

#include <ATen/ATen.h>

#include "tests/common/training/tiny_training.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

AugmentOptions Nothing() {
  return TinyTrainingOptions().augment;
}

AugmentOptions Everything() {
  AugmentOptions options;
  options.flip_probability = options.grey_probability = options.erase_probability = 0.5;
  return options;
}

at::Tensor Augmented(const at::Tensor& bytes, const AugmentOptions& options, uint64_t seed = 1) {
  Random random(seed);
  return AugmentPictures(bytes, options, &random);
}

at::Tensor Noise() {
  at::manual_seed(5);
  return at::randint(0, 256, {6, 3, 16, 16}, at::kByte);
}

TEST_CASE("pictures are the set's") {
  const TinyTrainingSet set;
  const Pictures pictures(*set, at::kCPU);
  REQUIRE(pictures.count() == 21);
  const at::Tensor taken = pictures.Take({4, 0, 4});
  REQUIRE(taken.sizes() == at::IntArrayRef({3, 3, 16, 16}));
  REQUIRE(at::equal(taken[0], taken[2]));
  REQUIRE(std::string(static_cast<const char*>(taken[1].data_ptr()), 768) == TinyPicture(0));
}

TEST_CASE("with every range zero a picture stays what it is") {
  REQUIRE(at::equal(Augmented(Noise(), Nothing()), PlainPictures(Noise())));
}

TEST_CASE("white stays white, whatever happens to it") {
  const at::Tensor white = at::full({20, 3, 16, 16}, 255, at::kByte);
  REQUIRE(at::equal(Augmented(white, Everything()), at::ones({20, 3, 16, 16})));
}

TEST_CASE("what is moved in from outside is white") {
  AugmentOptions options = Nothing();
  options.shift = 0.5;
  const at::Tensor black = at::zeros({20, 3, 16, 16}, at::kByte);
  const at::Tensor moved = Augmented(black, options);
  REQUIRE(moved.max().item<float>() == 1);
  REQUIRE(moved.min().item<float>() == 0);
  // Some edge has come in, of a width of at most half the side.
  REQUIRE(moved.mean().item<float>() > 0.2);
  REQUIRE(moved.mean().item<float>() < 0.75);
}

TEST_CASE("changes depend on the seed alone and differ between pictures") {
  const at::Tensor same = Noise()[0].unsqueeze(0).repeat({4, 1, 1, 1});
  const at::Tensor once = Augmented(same, Everything(), 3);
  REQUIRE(at::equal(once, Augmented(same, Everything(), 3)));
  REQUIRE_FALSE(at::equal(once, Augmented(same, Everything(), 4)));
  REQUIRE_FALSE(at::equal(once[0], once[1]));
  REQUIRE(once.min().item<float>() >= 0);
  REQUIRE(once.max().item<float>() <= 1);
}

TEST_CASE("a flip mirrors left and right") {
  AugmentOptions options = Nothing();
  options.flip_probability = 1;
  const at::Tensor expected = PlainPictures(Noise()).flip({3});
  REQUIRE((Augmented(Noise(), options) - expected).abs().max().item<float>() < 1e-4);
}

TEST_CASE("a shift moves ink and loses none that stays inside") {
  at::Tensor bytes = at::full({50, 3, 32, 32}, 255, at::kByte);
  bytes.narrow(2, 14, 4).narrow(3, 14, 4).fill_(0);
  AugmentOptions options = Nothing();
  options.shift = 0.25;
  const at::Tensor ink = 1 - Augmented(bytes, options);
  REQUIRE((ink.sum({2, 3}) - 16).abs().max().item<float>() < 1e-2);
  const at::Tensor at = at::arange(32, at::kFloat) + 0.5;
  const at::Tensor x = (ink.select(1, 0).sum(1) * at).sum(1) / 16 - 16;
  const at::Tensor y = (ink.select(1, 0).sum(2) * at).sum(1) / 16 - 16;
  for (const at::Tensor& shift : {x, y}) {
    REQUIRE(shift.abs().max().item<float>() <= 8.01);
    REQUIRE(shift.max().item<float>() > 4);
    REQUIRE(shift.min().item<float>() < -4);
  }
}

TEST_CASE("size changes within its range, a turn keeps ink where it turns") {
  at::Tensor bytes = at::full({50, 3, 64, 64}, 255, at::kByte);
  bytes.narrow(2, 24, 16).narrow(3, 24, 16).fill_(0);
  AugmentOptions options = Nothing();
  options.scale = 0.2;
  const at::Tensor area = (1 - Augmented(bytes, options)).select(1, 0).sum({1, 2}) / 256;
  REQUIRE(area.max().item<float>() <= 1.44f * 1.02f);
  REQUIRE(area.min().item<float>() >= 0.64f * 0.98f);
  REQUIRE((area.max() - area.min()).item<float>() > 0.4);
  options.scale = 0;
  options.rotation_degrees = 45;
  const at::Tensor turned = 1 - Augmented(bytes, options);
  REQUIRE((turned.sum({2, 3}) - 256).abs().max().item<float>() < 8);
  REQUIRE((turned.select(2, 32).select(2, 32) - 1).abs().max().item<float>() < 1e-4);
}

TEST_CASE("grey has three equal planes, a hole is white") {
  AugmentOptions options = Nothing();
  options.grey_probability = 1;
  const at::Tensor grey = Augmented(Noise(), options);
  REQUIRE((grey.select(1, 0) - grey.select(1, 2)).abs().max().item<float>() < 1e-5);
  options = Nothing();
  options.erase_probability = 1;
  options.erase_side = 0.5;
  const at::Tensor holes = Augmented(at::zeros({50, 3, 16, 16}, at::kByte), options);
  const at::Tensor share = holes.mean({1, 2, 3});
  REQUIRE(share.max().item<float>() <= 0.3);
  REQUIRE(share.mean().item<float>() == Approx(0.0625).margin(0.03));
  REQUIRE(at::equal(holes, holes.round()));
}

}  // namespace
}  // namespace sightline
