// trainer prepare: corpora in, a training set out, or the vocabulary of a model that reads regions.
#ifndef SIGHTLINE_SERVICES_TRAINER_PREPARE_COMMAND_H_
#define SIGHTLINE_SERVICES_TRAINER_PREPARE_COMMAND_H_

#include <string>
#include <vector>

#include "common/config/command.h"

namespace sightline {

int RunPrepare(const std::vector<std::string>& args, const Console& console);

inline constexpr Command kPrepareCommand = {
    "prepare", "trainer prepare --out DIR [flags]",
    "Reads corpora and writes what training needs: pictures, tokens, splits, a vocabulary; of a "
    "model that reads regions, the vocabulary.",
    RunPrepare};

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_TRAINER_PREPARE_COMMAND_H_
