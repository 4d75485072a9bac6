#include "common/training/training_device.h"

#include "absl/strings/match.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

std::string Problem(const std::string& name, int local_rank, int gpu_count) {
  const absl::Status status = DeviceAmong(name, local_rank, gpu_count).status();
  REQUIRE(status.code() == absl::StatusCode::kInvalidArgument);
  return std::string(status.message());
}

TEST_CASE("each process of a machine has a GPU of its own") {
  for (const char* name : {"auto", "cuda"}) {
    INFO(name);
    REQUIRE(DeviceAmong(name, 0, 4)->str() == "cuda:0");
    REQUIRE(DeviceAmong(name, 3, 4)->str() == "cuda:3");
    const std::string problem = Problem(name, 4, 4);
    REQUIRE(absl::StrContains(problem, "process 4 of this machine"));
    REQUIRE(absl::StrContains(problem, "LibTorch has 4."));
  }
}

TEST_CASE("a device that is named is every process's") {
  REQUIRE(DeviceAmong("cuda:1", 3, 2)->str() == "cuda:1");
  REQUIRE(DeviceAmong("cpu", 3, 2)->is_cpu());
}

TEST_CASE("without a GPU auto is the CPU, for any process") {
  REQUIRE(DeviceAmong("auto", 3, 0)->is_cpu());
}

TEST_CASE("a device that is not here is refused, with what there is") {
  REQUIRE(
      absl::StrContains(Problem("cuda", 0, 0), "device 'cuda' is not here; LibTorch has cpu only"));
  REQUIRE(absl::StrContains(Problem("cuda:2", 0, 2), "LibTorch has cpu and cuda:0 to cuda:1"));
  REQUIRE(absl::StrContains(Problem("gpu", 0, 2), "device 'gpu' is not here"));
  REQUIRE(absl::StrContains(Problem("", 0, 2), "device '' is not here"));
  REQUIRE(absl::StrContains(Problem("mkldnn", 0, 2), "device 'mkldnn' is not here"));
}

}  // namespace
}  // namespace sightline
