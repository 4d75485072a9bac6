#include "common/image/encode_png.h"

#include <utility>

#include "absl/strings/match.h"
#include "common/image/decode.h"
#include "tests/common/image/encode.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

TEST_CASE("what is written is read again, to the byte") {
  for (const auto& [width, height] : {std::pair(1, 1), std::pair(224, 224), std::pair(7, 300)}) {
    const Pixels pixels = Gradient(width, height);
    const auto file = PngFileOf(pixels);
    REQUIRE(file.ok());
    const auto decoded = DecodeImage(*file, DecodeLimits());
    REQUIRE(decoded.ok());
    REQUIRE(decoded->width == width);
    REQUIRE(decoded->rgb == pixels.rgb);
  }
}

TEST_CASE("pixels that are none, or too few, are refused with what they are") {
  REQUIRE(PngFileOf(Pixels()).status().code() == absl::StatusCode::kInvalidArgument);
  Pixels pixels = Gradient(3, 2);
  pixels.rgb.pop_back();
  REQUIRE(absl::StrContains(PngFileOf(pixels).status().message(), "3 x 2 cannot have 17 bytes"));
}

}  // namespace
}  // namespace sightline
