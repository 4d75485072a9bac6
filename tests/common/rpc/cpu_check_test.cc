#include "common/rpc/cpu_check.h"

#include <string>

#include "tests/support/catch.h"

namespace sightline {
namespace {

TEST_CASE("The CPU that runs the tests is supported") {
  CHECK(UnsupportedCpu() == nullptr);
}

TEST_CASE("What is missing is named in one line") {
  const bool all[] = {true, true, true, true, true, true, true};
  CHECK(DescribeMissingCpuFeatures(all) == nullptr);
  const bool some[] = {false, true, true, false, true, true, true};
  CHECK_THAT(std::string(DescribeMissingCpuFeatures(some)),
             Catch::Contains("this one lacks AVX2, BMI2.") && Catch::EndsWith("\n"));
  const bool none[] = {false, false, false, false, false, false, false};
  CHECK_THAT(std::string(DescribeMissingCpuFeatures(none)),
             Catch::Contains("AVX2, FMA, BMI1, BMI2, F16C, LZCNT, MOVBE."));
}

}  // namespace
}  // namespace sightline
