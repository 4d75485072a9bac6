// sightlinectl without the large commands: for images without LibTorch, as the router's.
#ifndef SIGHTLINE_SERVICES_SIGHTLINECTL_SMALL_COMMAND_H_
#define SIGHTLINE_SERVICES_SIGHTLINECTL_SMALL_COMMAND_H_

#include <vector>

#include "common/config/command.h"

namespace sightline {

// The commands that ask a fleet or work on a store, in the order of the help.
std::vector<Command> SmallCommands();

// The program of these, which says of the others where they are.
Program SmallSightlinectl();

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_SIGHTLINECTL_SMALL_COMMAND_H_
