// check_golden [--stored float16|int8] DIR: holds the production models against a golden folder.
#include <cstdlib>
#include <exception>
#include <iostream>
#include <string>

#include "common/models/inference.h"
#include "tests/parity/golden_families.h"

int main(int argc, char** argv) {
  const std::string dtype = argc == 4 && std::string(argv[1]) == "--stored" ? argv[2] : "";
  if (argc != 2 && dtype != "float16" && dtype != "int8") {
    std::cerr << "usage: check_golden [--stored float16|int8] DIR   (config.json, "
                 "weights.safetensors, case.safetensors)\n";
    return 2;
  }
  std::string directory = argv[argc - 1];
  // `bazel run` starts programs elsewhere than where the user stands.
  const char* here = std::getenv("BUILD_WORKING_DIRECTORY");
  if (here != nullptr && directory[0] != '/') directory = std::string(here) + "/" + directory;
  try {
    sightline::ComputePool::SingleThreadedLibraries();
    sightline::UseSingleThreadedTorch();
    using sightline::GoldenPath;
    const auto path = dtype.empty()     ? GoldenPath::kExact
                      : dtype == "int8" ? GoldenPath::kInt8
                                        : GoldenPath::kFloat16;
    return sightline::CheckGolden(directory, path, std::cout);
  } catch (const std::exception& error) {
    std::cerr << "failed: " << error.what() << "\n";
    return 2;
  }
}
