#include "common/kernels/row_parts.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "common/base/float16.h"
#include "tests/support/catch.h"

namespace sightline::kernels {
namespace {

// At an odd address, as parts of a file may lie.
std::string Odd(const void* bytes, size_t count) {
  return "x" + std::string(static_cast<const char*>(bytes), count);
}

std::vector<float> Read(const std::string& odd, Dtype dtype, const std::string& odd_scales,
                        int64_t rows, int64_t n) {
  std::vector<float> read(rows * n + 1, 7);
  ReadRows({odd.data() + 1, dtype, odd_scales.data() + 1, rows}, n, read.data());
  REQUIRE(read.back() == 7);
  read.pop_back();
  return read;
}

bool SameBits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

TEST_CASE("float32 is copied, at any address") {
  const std::vector<float> numbers = {1, -0.0f, 1e-42f, 3e38f, 5, 6};
  REQUIRE(SameBits(Read(Odd(numbers.data(), 24), Dtype::kFloat32, "x", 2, 3), numbers));
}

TEST_CASE("every float16 is the number that it is") {
  for (const int64_t n : {1, 7, 8, 31}) {
    std::vector<uint16_t> halves;
    std::vector<float> expected;
    for (int bits = 0; bits < 1 << 16; ++bits) {
      const int exponent = bits >> 10 & 31, fraction = bits & 1023;
      if (exponent == 31) continue;  // none of a stored row
      const float magnitude = exponent == 0 ? std::ldexp(static_cast<float>(fraction), -24)
                                            : std::ldexp(1024.0f + fraction, exponent - 25);
      halves.push_back(static_cast<uint16_t>(bits));
      expected.push_back(std::copysign(magnitude, bits >> 15 ? -1.0f : 1.0f));
    }
    const auto rows = static_cast<int64_t>(halves.size()) / n;
    expected.resize(rows * n);
    REQUIRE(
        SameBits(Read(Odd(halves.data(), rows * n * 2), Dtype::kFloat16, "x", rows, n), expected));
  }
}

TEST_CASE("int8 is number times its row's scale, rounded once") {
  for (const int64_t n : {1, 8, 13, 254}) {
    const std::vector<float> scales = {0.1f, 0, std::numeric_limits<float>::min(), 2e36f};
    std::vector<int8_t> codes;
    std::vector<float> expected;
    for (const float scale : scales) {
      for (int64_t i = 0; i < n; ++i) {
        codes.push_back(static_cast<int8_t>(i % 255 - 127));
        expected.push_back(static_cast<float>(i % 255 - 127) * scale);
      }
    }
    REQUIRE(
        SameBits(Read(Odd(codes.data(), codes.size()), Dtype::kInt8, Odd(scales.data(), 16), 4, n),
                 expected));
  }
}

}  // namespace
}  // namespace sightline::kernels
