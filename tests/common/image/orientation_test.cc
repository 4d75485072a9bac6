#include "common/image/orientation.h"

#include <random>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "tests/common/image/encode.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

struct Point {
  int x;
  int y;
};

// Where the pixel that is to be shown at (x, y) lies in the stored picture of `width` x
// `height`: the standard says of each orientation which side row 0 and column 0 are.
Point StoredAt(int orientation, int x, int y, int width, int height) {
  switch (orientation) {
    case 2:  // row 0 top, column 0 right
      return {width - 1 - x, y};
    case 3:  // bottom, right
      return {width - 1 - x, height - 1 - y};
    case 4:  // bottom, left
      return {x, height - 1 - y};
    case 5:  // left, top
      return {y, x};
    case 6:  // right, top
      return {y, height - 1 - x};
    case 7:  // right, bottom
      return {width - 1 - y, height - 1 - x};
    case 8:  // left, bottom
      return {width - 1 - y, x};
    default:
      return {x, y};
  }
}

TEST_CASE("each orientation is turned upright, whatever the size") {
  for (const Point size : {Point{1, 1}, Point{5, 3}, Point{4, 6}, Point{1, 7}, Point{70, 37}}) {
    const Pixels stored = Gradient(size.x, size.y);
    for (int orientation = 1; orientation <= 8; ++orientation) {
      const Pixels upright = TurnUpright(stored, orientation);
      CAPTURE(size.x, size.y, orientation);
      REQUIRE(upright.width == (TurnsSideways(orientation) ? size.y : size.x));
      REQUIRE(upright.height == (TurnsSideways(orientation) ? size.x : size.y));
      REQUIRE(upright.rgb.size() == stored.rgb.size());
      bool equal = true;
      for (int y = 0; y < upright.height; ++y) {
        for (int x = 0; x < upright.width; ++x) {
          const Point from = StoredAt(orientation, x, y, size.x, size.y);
          for (int c = 0; c < 3; ++c) {
            equal = equal && upright.rgb[(y * upright.width + x) * 3 + c] ==
                                 stored.rgb[(from.y * stored.width + from.x) * 3 + c];
          }
        }
      }
      REQUIRE(equal);
    }
  }
}

TEST_CASE("the orientation is read in both byte orders") {
  for (const bool big_endian : {false, true}) {
    for (int orientation = 1; orientation <= 8; ++orientation) {
      REQUIRE(ExifOrientation(ExifBlock(orientation, big_endian)) == orientation);
    }
    REQUIRE(ExifOrientation(ExifBlock(0, big_endian)) == 1);
    REQUIRE(ExifOrientation(ExifBlock(9, big_endian)) == 1);
  }
}

TEST_CASE("a block without an orientation, or no block, means upright") {
  REQUIRE(ExifOrientation("") == 1);
  REQUIRE(ExifOrientation("http://ns.adobe.com/xap/1.0/") == 1);
  const std::string block = ExifBlock(6, true);
  // The directory ends where the entry would begin, or lies outside.
  for (size_t size = 0; size < 6 + 8 + 2 + 12 + 10; ++size) {
    CAPTURE(size);
    REQUIRE(ExifOrientation(block.substr(0, size)) == 1);
  }
  std::string far = block;
  far[6 + 4] = '\x7f';
  REQUIRE(ExifOrientation(far) == 1);
  std::string many = block;
  many[6 + 8] = '\xff';  // more entries than there are: the ones there are still count
  REQUIRE(ExifOrientation(many) == 6);
  std::string as_long = block;
  as_long[6 + 8 + 2 + 12 + 3] = 4;  // not a SHORT
  REQUIRE(ExifOrientation(as_long) == 1);
}

TEST_CASE("no block makes the parser read outside it") {
  // The address sanitizer is the judge; each block lies in memory of exactly its size.
  std::mt19937 random(11);
  for (int round = 0; round < 20000; ++round) {
    const std::string block = ExifBlock(1 + random() % 8, random() % 2);
    std::vector<char> damaged(block.begin(), block.begin() + random() % (block.size() + 1));
    for (int flips = random() % 6; flips > 0 && !damaged.empty(); --flips) {
      damaged[random() % damaged.size()] = static_cast<char>(random());
    }
    const int orientation = ExifOrientation(absl::string_view(damaged.data(), damaged.size()));
    REQUIRE(orientation >= 1);
    REQUIRE(orientation <= 8);
  }
}

}  // namespace
}  // namespace sightline
