#include <algorithm>
#include <cstdio>
#include <iostream>
#include <string>
#include <vector>

#include "common/config/command.h"
#include "common/log/log.h"
#include "common/rpc/cpu_check.h"
#include "services/trainer/prepare_command.h"
#include "services/trainer/train_command.h"

int main(int argc, char** argv) {
  if (const char* problem = sightline::UnsupportedCpu()) {
    std::fputs(problem, stderr);
    return sightline::kFailure;
  }
  sightline::LogOptions log;
  log.service = "trainer";
  sightline::ConfigureLog(log);
  const sightline::Program program = {"trainer",
                                      "learns a model from pictures with captions.",
                                      {sightline::kPrepareCommand, sightline::kTrainCommand}};
  const std::vector<std::string> args(argv + std::min(argc, 1), argv + argc);
  return sightline::RunProgram(program, args, {std::cout, std::cerr});
}
