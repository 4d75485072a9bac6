// `publish`: makes a generation the one that servers should serve.
#ifndef SIGHTLINE_SERVICES_SIGHTLINECTL_PUBLISH_COMMAND_H_
#define SIGHTLINE_SERVICES_SIGHTLINECTL_PUBLISH_COMMAND_H_

#include <string>
#include <vector>

#include "common/config/command.h"

namespace sightline {

int RunPublish(const std::vector<std::string>& args, const Console& console);

inline constexpr Command kPublishCommand = {
    "publish", "sightlinectl publish INDEX GENERATION --store DIR",
    "makes a generation the one that servers should serve; an older one is the way back",
    RunPublish};

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_SIGHTLINECTL_PUBLISH_COMMAND_H_
