#include <algorithm>
#include <iostream>
#include <string>
#include <vector>

#include "common/config/command.h"
#include "common/log/log.h"
#include "loadtest/run/compare_command.h"
#include "loadtest/run/run_command.h"

int main(int argc, char** argv) {
  sightline::LogOptions log;
  log.service = "loadtest";
  sightline::ConfigureLog(log);
  const std::vector<std::string> args(argv + std::min(argc, 1), argv + argc);
  return sightline::RunProgram({"loadtest",
                                "loads a fleet and tells whether it held.",
                                {sightline::kRunCommand, sightline::kCompareCommand}},
                               args, {std::cout, std::cerr});
}
