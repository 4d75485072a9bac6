// `run`: a scenario, its verdict and its report.
#ifndef SIGHTLINE_LOADTEST_RUN_RUN_COMMAND_H_
#define SIGHTLINE_LOADTEST_RUN_RUN_COMMAND_H_

#include <string>
#include <vector>

#include "common/config/command.h"

namespace sightline {

int RunScenarioCommand(const std::vector<std::string>& args, const Console& console);

inline constexpr Command kRunCommand = {
    "run", "loadtest run SCENARIO.yaml [--target ADDR] [flags]",
    "loads a fleet as the scenario says and tells whether it held: exit status 0 yes, 1 no, 3 "
    "cannot be told",
    RunScenarioCommand};

}  // namespace sightline

#endif  // SIGHTLINE_LOADTEST_RUN_RUN_COMMAND_H_
