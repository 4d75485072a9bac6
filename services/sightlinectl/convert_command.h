// `convert`: a checkpoint of a paper's repository becomes a model bundle; so do other bundles,
// as an ensemble, and scripted modules.
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
    "convert --ensemble ID,ID --store STORE | convert --scripts DIR --out STORE",
    "makes a model bundle of a checkpoint, of bundles or of scripts, and prints its id",
    RunConvert};

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_SIGHTLINECTL_CONVERT_COMMAND_H_
