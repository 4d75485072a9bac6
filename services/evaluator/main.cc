#include <algorithm>
#include <cstdio>
#include <iostream>
#include <string>
#include <vector>

#include "common/log/log.h"
#include "common/rpc/cpu_check.h"
#include "services/evaluator/commands.h"

int main(int argc, char** argv) {
  if (const char* problem = sightline::UnsupportedCpu()) {
    std::fputs(problem, stderr);
    return sightline::kFailure;
  }
  sightline::LogOptions log;
  log.service = "evaluator";
  sightline::ConfigureLog(log);
  const std::vector<std::string> args(argv + std::min(argc, 1), argv + argc);
  return sightline::RunEvaluator(args, {std::cout, std::cerr});
}
