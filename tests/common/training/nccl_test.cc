#include "common/training/nccl.h"

#include "tests/support/catch.h"

namespace sightline {
namespace {

TEST_CASE("NCCL is for processes with a GPU each that no other one has") {
  const std::string a(kGpuIdBytes, 'a'), b(kGpuIdBytes, 'b');
  REQUIRE(EachHasItsOwnGpu({a, b}));
  REQUIRE_FALSE(EachHasItsOwnGpu({a, b, a}));
  REQUIRE_FALSE(EachHasItsOwnGpu({a, "", b}));
  REQUIRE_FALSE(EachHasItsOwnGpu({"", ""}));
}

TEST_CASE("a CPU is no GPU") {
  REQUIRE(GpuIdForNccl(c10::Device(c10::kCPU)).empty());
}

}  // namespace
}  // namespace sightline
