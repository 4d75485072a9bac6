// Numbers for tests of kernels.
#ifndef SIGHTLINE_TESTS_COMMON_KERNELS_RANDOM_NUMBERS_H_
#define SIGHTLINE_TESTS_COMMON_KERNELS_RANDOM_NUMBERS_H_

#include <cstdint>
#include <random>
#include <vector>

namespace sightline::kernels {

// `count` normal numbers; the same for the same generator.
inline std::vector<float> Normal(int64_t count, float deviation, std::mt19937* generator) {
  std::normal_distribution<float> normal(0, deviation);
  std::vector<float> numbers(count);
  for (float& number : numbers) number = normal(*generator);
  return numbers;
}

}  // namespace sightline::kernels

#endif  // SIGHTLINE_TESTS_COMMON_KERNELS_RANDOM_NUMBERS_H_
