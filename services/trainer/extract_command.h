// `trainer extract`: regions of pictures, for `learn`.
#ifndef SIGHTLINE_SERVICES_TRAINER_EXTRACT_COMMAND_H_
#define SIGHTLINE_SERVICES_TRAINER_EXTRACT_COMMAND_H_

#include <string>
#include <vector>

#include "common/config/command.h"

namespace sightline {

int RunExtract(const std::vector<std::string>& args, const Console& console);

inline constexpr Command kExtractCommand = {
    "extract", "trainer extract --model MODEL (--corpus CORPUS | --data DIR) --out FILE [flags]",
    "Finds regions in pictures by a bundle's extractor, and writes them to learn from.",
    RunExtract};

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_TRAINER_EXTRACT_COMMAND_H_
