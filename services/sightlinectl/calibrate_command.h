// `calibrate`: how far and how fast a model is in each precision, on this CPU or between several.
#ifndef SIGHTLINE_SERVICES_SIGHTLINECTL_CALIBRATE_COMMAND_H_
#define SIGHTLINE_SERVICES_SIGHTLINECTL_CALIBRATE_COMMAND_H_

#include <string>
#include <vector>

#include "common/config/command.h"

namespace sightline {

int RunCalibrate(const std::vector<std::string>& args, const Console& console);

inline constexpr Command kCalibrateCommand = {
    "calibrate",
    "sightlinectl calibrate --store DIR --model ID | --bundle FOLDER | --merge FILE FILE... "
    "[flags]",
    "measures a model in every precision that this CPU has, or compares reports of several",
    RunCalibrate};

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_SIGHTLINECTL_CALIBRATE_COMMAND_H_
