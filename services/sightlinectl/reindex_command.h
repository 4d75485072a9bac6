// `reindex`: another index over the items of a generation, without encoding them again.
#ifndef SIGHTLINE_SERVICES_SIGHTLINECTL_REINDEX_COMMAND_H_
#define SIGHTLINE_SERVICES_SIGHTLINECTL_REINDEX_COMMAND_H_

#include <string>
#include <vector>

#include "common/config/command.h"

namespace sightline {

int RunReindex(const std::vector<std::string>& args, const Console& console);

inline constexpr Command kReindexCommand = {
    "reindex",
    "sightlinectl reindex INDEX --store DIR {--kind NAME | --recall R | --bytes-per-item N | "
    "--fastest} [flags]",
    "makes a generation of the same items with another index, and prints its name", RunReindex};

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_SIGHTLINECTL_REINDEX_COMMAND_H_
