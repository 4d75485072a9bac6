#include "common/base/random.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "tests/support/catch.h"

namespace sightline {
namespace {

// xoshiro256** as its authors state it, on an array.
std::vector<uint64_t> Reference(uint64_t seed, int count) {
  uint64_t s[4];
  for (uint64_t& word : s) word = seed = SplitMix64(seed);
  const auto rotl = [](uint64_t x, int k) { return (x << k) | (x >> (64 - k)); };
  std::vector<uint64_t> numbers;
  for (int i = 0; i < count; ++i) {
    numbers.push_back(rotl(s[1] * 5, 7) * 9);
    const uint64_t t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotl(s[3], 45);
  }
  return numbers;
}

TEST_CASE("numbers are those of splitmix64 and xoshiro256**") {
  REQUIRE(SplitMix64(0) == 0xe220a8397b1dcdafu);
  Random random(42);
  for (const uint64_t expected : Reference(42, 20)) REQUIRE(random.Next() == expected);
}

TEST_CASE("every number below a bound comes, about equally often") {
  Random random(1);
  std::vector<int> seen(7, 0);
  for (int i = 0; i < 7000; ++i) ++seen[random.Below(7)];
  REQUIRE(*std::min_element(seen.begin(), seen.end()) > 850);
  REQUIRE(*std::max_element(seen.begin(), seen.end()) < 1150);
  REQUIRE(random.Below(1) == 0);
}

TEST_CASE("shuffling keeps the values and mixes the first ones") {
  std::vector<int> values(100);
  std::iota(values.begin(), values.end(), 0);
  std::vector<int> shuffled = values;
  Random(3).ShuffleFirst(100, &shuffled);
  REQUIRE(shuffled != values);
  std::sort(shuffled.begin(), shuffled.end());
  REQUIRE(shuffled == values);
}

}  // namespace
}  // namespace sightline
