// `convert`: a checkpoint of a paper's repository becomes a model bundle.
#ifndef SIGHTLINE_SERVICES_SIGHTLINECTL_CONVERT_COMMAND_H_
#define SIGHTLINE_SERVICES_SIGHTLINECTL_CONVERT_COMMAND_H_

#include <string>
#include <vector>

#include "common/config/command.h"

namespace sightline {

int RunConvert(const std::vector<std::string>& args, const Console& console);

inline constexpr Command kConvertCommand = {
    "convert",
    "sightlinectl convert CHECKPOINT --vocab FILE --out STORE [flags] | "
    "convert --ensemble ID,ID --store STORE",
    "makes a model bundle of a checkpoint, or of bundles, and prints its id", RunConvert};

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_SIGHTLINECTL_CONVERT_COMMAND_H_
