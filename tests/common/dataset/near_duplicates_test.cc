#include "common/dataset/near_duplicates.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <vector>

#include "tests/common/image/encode.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

using Color = std::array<uint8_t, 3>;

Pixels Painted(int width, int height, const std::function<Color(int x, int y)>& color) {
  Pixels pixels;
  pixels.width = width;
  pixels.height = height;
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      for (const uint8_t value : color(x, y)) pixels.rgb.push_back(value);
    }
  }
  return pixels;
}

Color Grey(int value) {
  const auto byte = static_cast<uint8_t>(value);
  return {byte, byte, byte};
}

// As the header says it, pixel by pixel and cell by cell, in floating point.
uint64_t SlowHash(const Pixels& pixels) {
  const auto overlap = [](double a, double b, double c, double d) {
    return std::max(0.0, std::min(b, d) - std::max(a, c));
  };
  std::vector<std::vector<double>> cells(8, std::vector<double>(9));
  for (int cell_y = 0; cell_y < 8; ++cell_y) {
    for (int cell_x = 0; cell_x < 9; ++cell_x) {
      for (int y = 0; y < pixels.height; ++y) {
        for (int x = 0; x < pixels.width; ++x) {
          const uint8_t* rgb = &pixels.rgb[3 * (y * pixels.width + x)];
          const double grey = 0.299 * rgb[0] + 0.587 * rgb[1] + 0.114 * rgb[2];
          cells[cell_y][cell_x] +=
              grey *
              overlap(x, x + 1, cell_x * pixels.width / 9.0, (cell_x + 1) * pixels.width / 9.0) *
              overlap(y, y + 1, cell_y * pixels.height / 8.0, (cell_y + 1) * pixels.height / 8.0);
        }
      }
    }
  }
  uint64_t hash = 0;
  for (int y = 0; y < 8; ++y) {
    for (int x = 0; x < 8; ++x) {
      if (cells[y][x] > cells[y][x + 1] + 1e-6) hash |= uint64_t{1} << (8 * y + x);
    }
  }
  return hash;
}

TEST_CASE("a picture that darkens to the right has every bit, one that brightens none") {
  REQUIRE(FingerprintOf(Painted(18, 16, [](int x, int) {
            return Grey(250 - 10 * x);
          })).difference_hash == ~uint64_t{0});
  REQUIRE(FingerprintOf(Painted(18, 16, [](int x, int) { return Grey(10 * x); })).difference_hash ==
          0);
}

TEST_CASE("one bright cell is one bit, at its own place") {
  // 9 x 8 pixels are the cells themselves.  Cell (3, 2) is brighter than the next one; the
  // one before is darker than it.
  const PictureFingerprint print =
      FingerprintOf(Painted(9, 8, [](int x, int y) { return Grey(x == 3 && y == 2 ? 200 : 100); }));
  REQUIRE(print.difference_hash == uint64_t{1} << (8 * 2 + 3));
}

TEST_CASE("a blank picture has no bit and its own colour") {
  const PictureFingerprint print = FingerprintOf(Painted(31, 17, [](int, int) {
    return Color{10, 20, 30};
  }));
  REQUIRE(print.difference_hash == 0);
  REQUIRE(print.mean_color == std::array<double, 3>{10, 20, 30});
}

TEST_CASE("cells are averages by area, whatever the size of the picture") {
  std::mt19937 random(3);
  for (const auto& [width, height] : std::vector<std::pair<int, int>>{
           {1, 1}, {1, 40}, {5, 3}, {8, 9}, {9, 8}, {10, 7}, {37, 23}, {64, 64}, {100, 11}}) {
    Pixels pixels = Gradient(width, height);
    for (uint8_t& value : pixels.rgb) value = static_cast<uint8_t>(random());
    INFO(width << " x " << height);
    REQUIRE(FingerprintOf(pixels).difference_hash == SlowHash(pixels));
  }
}

TEST_CASE("a picture and its enlargement are near duplicates") {
  const Pixels small = Gradient(36, 32);
  const Pixels large = Painted(72, 64, [&](int x, int y) {
    const uint8_t* rgb = &small.rgb[3 * ((y / 2) * small.width + x / 2)];
    return Color{rgb[0], rgb[1], rgb[2]};
  });
  REQUIRE(FingerprintOf(small).difference_hash == FingerprintOf(large).difference_hash);
  REQUIRE(AreNearDuplicates(FingerprintOf(small), FingerprintOf(large)));
}

TEST_CASE("four bits apart are near duplicates, five are not") {
  const PictureFingerprint none;
  PictureFingerprint other;
  other.difference_hash = 0xF000'0000'0000'0000;
  REQUIRE(AreNearDuplicates(none, other));
  other.difference_hash |= 1;
  REQUIRE_FALSE(AreNearDuplicates(none, other));
}

TEST_CASE("every channel's mean may differ by eight and no more") {
  const PictureFingerprint black;
  PictureFingerprint other;
  other.mean_color = {8, 8, 8};
  REQUIRE(AreNearDuplicates(black, other));
  for (size_t channel = 0; channel < 3; ++channel) {
    other.mean_color = {0, 0, 0};
    other.mean_color[channel] = 8.01;
    REQUIRE_FALSE(AreNearDuplicates(black, other));
    REQUIRE_FALSE(AreNearDuplicates(other, black));
  }
}

// The smallest index that can be reached over near duplicates, by walking.
std::vector<int64_t> SlowGroups(const std::vector<PictureFingerprint>& prints) {
  std::vector<int64_t> groups(prints.size(), -1);
  for (size_t start = 0; start < prints.size(); ++start) {
    if (groups[start] >= 0) continue;
    std::vector<size_t> reached = {start};
    groups[start] = static_cast<int64_t>(start);
    for (size_t i = 0; i < reached.size(); ++i) {
      for (size_t k = 0; k < prints.size(); ++k) {
        if (groups[k] >= 0 || !AreNearDuplicates(prints[reached[i]], prints[k])) continue;
        groups[k] = static_cast<int64_t>(start);
        reached.push_back(k);
      }
    }
  }
  return groups;
}

TEST_CASE("groups are what can be reached over near duplicates") {
  std::mt19937_64 random(11);
  for (int round = 0; round < 30; ++round) {
    std::vector<PictureFingerprint> prints(60);
    for (PictureFingerprint& print : prints) {
      // Few bits in play, so that chains form.
      print.difference_hash = random() & random() & 0x3FFF;
      print.mean_color = {static_cast<double>(random() % 20), 0, 0};
    }
    const std::vector<int64_t> groups = GroupNearDuplicates(prints);
    REQUIRE(groups == SlowGroups(prints));
    for (size_t i = 0; i < groups.size(); ++i) REQUIRE(groups[i] <= static_cast<int64_t>(i));
  }
}

TEST_CASE("a chain is one group though its ends differ") {
  std::vector<PictureFingerprint> prints(3);
  prints[0].difference_hash = 0x00FF;
  prints[1].difference_hash = 0x0;
  prints[2].difference_hash = 0x000F;
  REQUIRE_FALSE(AreNearDuplicates(prints[0], prints[1]));
  REQUIRE(GroupNearDuplicates(prints) == std::vector<int64_t>{0, 0, 0});
}

TEST_CASE("no pictures make no groups") {
  REQUIRE(GroupNearDuplicates({}).empty());
}

}  // namespace
}  // namespace sightline
