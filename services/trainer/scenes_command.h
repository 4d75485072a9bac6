// trainer scenes: the scene graphs and captions of Sightline Scenes, as files.
#ifndef SIGHTLINE_SERVICES_TRAINER_SCENES_COMMAND_H_
#define SIGHTLINE_SERVICES_TRAINER_SCENES_COMMAND_H_

#include <string>
#include <vector>

#include "common/config/command.h"

namespace sightline {

int RunScenes(const std::vector<std::string>& args, const Console& console);

inline constexpr Command kScenesCommand = {
    "scenes", "trainer scenes --out DIR [flags]",
    "Writes Sightline Scenes: what is on each picture, where, and its captions.", RunScenes};

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_TRAINER_SCENES_COMMAND_H_
