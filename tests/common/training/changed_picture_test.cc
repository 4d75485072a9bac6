#include "common/training/changed_picture.h"

#include <ATen/ATen.h>

#include <string>

#include "common/training/augment.h"
#include "tests/common/training/tiny_training.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

TEST_CASE("with every range zero the bytes are the row's own") {
  const TinyTrainingSet set;
  Random random(1);
  for (const int row : {0, 3, 7}) {
    REQUIRE(*ChangedPicture(*set, row, TinyTrainingOptions().augment, &random) == TinyPicture(row));
  }
}

TEST_CASE("changed, they are those that training shows, rounded") {
  const TinyTrainingSet set;
  const AugmentOptions options;
  Random random(5), same(5);
  const std::string bytes = *ChangedPicture(*set, /*row=*/3, options, &random);
  const at::Tensor shown =
      AugmentPictures(Pictures(*set, at::kCPU).Take({3}), options, &same).flatten();
  REQUIRE(static_cast<int64_t>(bytes.size()) == shown.numel());
  for (int64_t i = 0; i < shown.numel(); ++i) {
    const double value = static_cast<uint8_t>(bytes[i]);
    REQUIRE(value == Approx(shown[i].item<double>() * 255).margin(0.5001));
  }
  REQUIRE(bytes != TinyPicture(3));
}

}  // namespace
}  // namespace sightline
