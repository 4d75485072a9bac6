// `add-probes`: what a model's precisions are compared on, out of a store into its bundle.
#ifndef SIGHTLINE_SERVICES_SIGHTLINECTL_ADD_PROBES_COMMAND_H_
#define SIGHTLINE_SERVICES_SIGHTLINECTL_ADD_PROBES_COMMAND_H_

#include <string>
#include <vector>

#include "common/config/command.h"

namespace sightline {

int RunAddProbes(const std::vector<std::string>& args, const Console& console);

inline constexpr Command kAddProbesCommand = {
    "add-probes",
    "sightlinectl add-probes --store DIR --model ID --index NAME [--questions FILE] [flags]",
    "gives a model the texts and items that its precisions are compared on, and prints its new id",
    RunAddProbes};

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_SIGHTLINECTL_ADD_PROBES_COMMAND_H_
