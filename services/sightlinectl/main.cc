#include <algorithm>
#include <iostream>
#include <string>
#include <vector>

#include "services/sightlinectl/command.h"

int main(int argc, char** argv) {
  const std::vector<std::string> args(argv + std::min(argc, 1), argv + argc);
  return sightline::RunCommand(args, {std::cout, std::cerr});
}
