// trainer learn: a bundle, a recipe and regions with captions in, a bundle out.
#ifndef SIGHTLINE_SERVICES_TRAINER_LEARN_COMMAND_H_
#define SIGHTLINE_SERVICES_TRAINER_LEARN_COMMAND_H_

#include <string>
#include <vector>

#include "common/config/command.h"

namespace sightline {

int RunLearn(const std::vector<std::string>& args, const Console& console);

inline constexpr Command kLearnCommand = {
    "learn", "trainer learn --recipe FILE [flags]",
    "Trains any family's bundle by a recipe, on regions; started again, it continues.", RunLearn};

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_TRAINER_LEARN_COMMAND_H_
