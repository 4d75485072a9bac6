// check_golden: holds the production models against a golden folder.
#include <cstdlib>
#include <exception>
#include <iostream>
#include <string>
#include <utility>

#include "common/base/compute_pool.h"
#include "common/kernels/device_stack.h"
#include "common/models/execution.h"
#include "common/models/inference.h"
#include "tests/parity/golden_families.h"

namespace {

constexpr char kUsage[] =
    "usage: check_golden [--stored float16|int8] [--device cpu|cuda:N] "
    "[--precision float32|bfloat16] DIR\n"
    "   DIR has config.json, weights.safetensors and case.safetensors\n";

struct Arguments {
  std::string directory;
  sightline::GoldenPath path = sightline::GoldenPath::kExact;
  sightline::Execution execution;
};

// Whether they were understood.
bool Read(int argc, char** argv, Arguments* arguments) {
  using sightline::GoldenPath;
  if (argc < 2 || argc % 2 != 0) return false;
  arguments->directory = argv[argc - 1];
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i], value = argv[i + 1];
    if (name == "--stored" && (value == "float16" || value == "int8")) {
      arguments->path = value == "int8" ? GoldenPath::kInt8 : GoldenPath::kFloat16;
    } else if (name == "--device" && (value == "cpu" || value.rfind("cuda:", 0) == 0)) {
      arguments->execution.device = value;
    } else if (name == "--precision" && (value == "float32" || value == "bfloat16")) {
      arguments->execution.precision = value;
    } else {
      return false;
    }
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  if (!Read(argc, argv, &arguments)) {
    std::cerr << kUsage;
    return 2;
  }
  // `bazel run` starts programs elsewhere than where the user stands.
  const char* here = std::getenv("BUILD_WORKING_DIRECTORY");
  std::string& directory = arguments.directory;
  if (here != nullptr && directory[0] != '/') directory = std::string(here) + "/" + directory;
  if (!arguments.execution.on_cpu()) {
    auto devices = sightline::kernels::CudaStackDevices();
    if (!devices.ok()) {
      std::cerr << devices.status().message() << "\n";
      return 2;
    }
    arguments.execution.devices = *std::move(devices);
  }
  try {
    sightline::ComputePool::SingleThreadedLibraries();
    sightline::UseSingleThreadedTorch();
    return sightline::CheckGolden(directory, arguments.path, std::cout, arguments.execution);
  } catch (const std::exception& error) {
    std::cerr << "failed: " << error.what() << "\n";
    return 2;
  }
}
