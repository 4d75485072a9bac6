// Commands that read all of a generation and its models: `verify` and `fetch`.
#ifndef SIGHTLINE_SERVICES_SIGHTLINECTL_READ_COMMANDS_H_
#define SIGHTLINE_SERVICES_SIGHTLINECTL_READ_COMMANDS_H_

#include <string>
#include <vector>

#include "common/config/command.h"

namespace sightline {

int RunVerify(const std::vector<std::string>& args, const Console& console);
int RunFetch(const std::vector<std::string>& args, const Console& console);

inline constexpr Command kVerifyCommand = {
    "verify", "sightlinectl verify INDEX [GENERATION] {--store DIR | --object-store URL}",
    "reads a generation and its models, and compares all checksums", RunVerify};

inline constexpr Command kFetchCommand = {
    "fetch", "sightlinectl fetch INDEX [GENERATION] --object-store URL --store DIR",
    "brings a generation and its models from an object store into a folder", RunFetch};

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_SIGHTLINECTL_READ_COMMANDS_H_
