// `precision`: what a precision costs in quality.
#ifndef SIGHTLINE_SERVICES_EVALUATOR_PRECISION_COMMAND_H_
#define SIGHTLINE_SERVICES_EVALUATOR_PRECISION_COMMAND_H_

#include <string>
#include <vector>

#include "common/config/command.h"

namespace sightline {

int RunPrecision(const std::vector<std::string>& args, const Console& console);

inline constexpr Command kPrecisionCommand = {
    "precision", "evaluator precision --store DIR --precision NAME [flags]",
    "tells how answers in a precision differ from those in float32, over all labelled queries",
    RunPrecision};

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_EVALUATOR_PRECISION_COMMAND_H_
