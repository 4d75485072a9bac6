#include "common/config/command.h"
#include "common/log/log.h"
#include "loadtest/run/compare_command.h"
#include "loadtest/run/run_command.h"

int main(int argc, char** argv) {
  sightline::LogOptions log;
  log.service = "loadtest";
  sightline::ConfigureLog(log);
  return sightline::RunMain({"loadtest",
                             "loads a fleet and tells whether it held.",
                             {sightline::kRunCommand, sightline::kCompareCommand}},
                            argc, argv);
}
