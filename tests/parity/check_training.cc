// check_training: holds three optimiser steps against a golden folder.
#include <cstdlib>
#include <exception>
#include <iostream>
#include <string>

#include "tests/parity/golden_training.h"

namespace {

constexpr char kUsage[] =
    "usage: check_training [--device cpu|cuda:N] DIR\n"
    "   DIR has training.json and training.safetensors; and config.json, weights.safetensors\n"
    "   and case.safetensors, unless training.json says which folder beside it has (\"of\")\n";

}  // namespace

int main(int argc, char** argv) {
  std::string device = "cpu";
  const bool named = argc == 4 && argv[1] == std::string("--device");
  if (argc != 2 && !named) {
    std::cerr << kUsage;
    return 2;
  }
  if (named) device = argv[2];
  std::string directory = argv[argc - 1];
  // `bazel run` starts programs elsewhere than where the user stands.
  const char* here = std::getenv("BUILD_WORKING_DIRECTORY");
  if (here != nullptr && directory[0] != '/') directory = std::string(here) + "/" + directory;
  try {
    return sightline::CheckGoldenTraining(directory, device, std::cout);
  } catch (const std::exception& error) {
    std::cerr << "failed: " << error.what() << "\n";
    return 2;
  }
}
