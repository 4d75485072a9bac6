// trainer scenes-net: the net that sees the regions of Sightline Scenes.
#ifndef SIGHTLINE_SERVICES_TRAINER_SCENES_NET_COMMAND_H_
#define SIGHTLINE_SERVICES_TRAINER_SCENES_NET_COMMAND_H_

#include <string>
#include <vector>

#include "common/config/command.h"

namespace sightline {

int RunScenesNet(const std::vector<std::string>& args, const Console& console);

inline constexpr Command kScenesNetCommand = {
    "scenes-net", "trainer scenes-net --out FILE [flags]",
    "Trains the net that gives the pictures of Sightline Scenes their regions.", RunScenesNet};

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_TRAINER_SCENES_NET_COMMAND_H_
