#include <cstdio>

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
  return sightline::RunMain(sightline::Evaluator(), argc, argv);
}
