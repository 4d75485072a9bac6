// `compare`: whether B is worse than A.
#ifndef SIGHTLINE_LOADTEST_RUN_COMPARE_COMMAND_H_
#define SIGHTLINE_LOADTEST_RUN_COMPARE_COMMAND_H_

#include <string>
#include <vector>

#include "common/config/command.h"

namespace sightline {

int RunCompareCommand(const std::vector<std::string>& args, const Console& console);

inline constexpr Command kCompareCommand = {
    "compare", "loadtest compare --a REPORT.json --b REPORT.json [flags]",
    "tells regressions beyond noise between runs of one scenario: exit status 0 none, 1 some, 3 "
    "cannot be told",
    RunCompareCommand};

}  // namespace sightline

#endif  // SIGHTLINE_LOADTEST_RUN_COMPARE_COMMAND_H_
