#include <cstdio>

#include "common/config/command.h"
#include "common/log/log.h"
#include "common/rpc/cpu_check.h"
#include "services/trainer/extract_command.h"
#include "services/trainer/learn_command.h"
#include "services/trainer/page_command.h"
#include "services/trainer/prepare_command.h"
#include "services/trainer/scenes_command.h"
#include "services/trainer/scenes_net_command.h"
#include "services/trainer/train_command.h"

int main(int argc, char** argv) {
  if (const char* problem = sightline::UnsupportedCpu()) {
    std::fputs(problem, stderr);
    return sightline::kFailure;
  }
  sightline::LogOptions log;
  log.service = "trainer";
  sightline::ConfigureLog(log);
  return sightline::RunMain(
      {"trainer",
       "learns a model from pictures with captions.",
       {sightline::kPrepareCommand, sightline::kTrainCommand, sightline::kExtractCommand,
        sightline::kLearnCommand, sightline::kPageCommand, sightline::kScenesCommand,
        sightline::kScenesNetCommand}},
      argc, argv);
}
