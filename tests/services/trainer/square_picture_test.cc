#include "services/trainer/square_picture.h"

#include <string>

#include "tests/common/image/encode.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

uint8_t At(const std::string& bytes, int side, int channel, int y, int x) {
  return static_cast<uint8_t>(bytes[(channel * side + y) * side + x]);
}

TEST_CASE("a picture of the square's size keeps its bytes, plane by plane") {
  constexpr int kSide = 16;
  const Pixels pixels = Gradient(kSide, kSide);
  const auto bytes = SquareBytes(pixels, kSide);
  REQUIRE(bytes.ok());
  REQUIRE(bytes->size() == 3 * kSide * kSide);
  for (int y = 0; y < kSide; ++y) {
    for (int x = 0; x < kSide; ++x) {
      for (int channel = 0; channel < 3; ++channel) {
        REQUIRE(At(*bytes, kSide, channel, y, x) == pixels.rgb[3 * (y * kSide + x) + channel]);
      }
    }
  }
}

TEST_CASE("the margin is white") {
  constexpr int kSide = 16;
  Pixels black;
  black.width = 32;
  black.height = 16;
  black.rgb.assign(3 * 32 * 16, 0);
  const auto bytes = SquareBytes(black, kSide);
  REQUIRE(bytes.ok());
  for (int channel = 0; channel < 3; ++channel) {
    REQUIRE(At(*bytes, kSide, channel, 0, 8) == 255);
    REQUIRE(At(*bytes, kSide, channel, 8, 8) == 0);
    REQUIRE(At(*bytes, kSide, channel, 15, 8) == 255);
  }
}

TEST_CASE("malformed pixels are refused") {
  Pixels pixels = Gradient(4, 4);
  pixels.rgb.pop_back();
  REQUIRE(SquareBytes(pixels, 16).status().code() == absl::StatusCode::kInvalidArgument);
  REQUIRE(SquareBytes(Pixels(), 16).status().code() == absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace sightline
