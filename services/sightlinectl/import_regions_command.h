// `import-regions`: region features of any format into one file of ours.
#ifndef SIGHTLINE_SERVICES_SIGHTLINECTL_IMPORT_REGIONS_COMMAND_H_
#define SIGHTLINE_SERVICES_SIGHTLINECTL_IMPORT_REGIONS_COMMAND_H_

#include <string>
#include <vector>

#include "common/config/command.h"

namespace sightline {

int RunImportRegions(const std::vector<std::string>& args, const Console& console);

inline constexpr Command kImportRegionsCommand = {
    "import-regions", "sightlinectl import-regions KIND:PATH --out FILE [--captions FILE]",
    "writes the region features of a corpus (npz, precomp, regions) into one file",
    RunImportRegions};

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_SIGHTLINECTL_IMPORT_REGIONS_COMMAND_H_
