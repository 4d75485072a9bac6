// The subcommands of sightlinectl.
#ifndef SIGHTLINE_SERVICES_SIGHTLINECTL_COMMAND_H_
#define SIGHTLINE_SERVICES_SIGHTLINECTL_COMMAND_H_

#include <string>
#include <vector>

#include "common/config/command.h"

namespace sightline {

// All of them, in the order of the help.
const std::vector<Command>& Commands();

// The program of all of them.
Program Sightlinectl();

// Runs sightlinectl with `args`, the program's name left out.
int RunCommand(const std::vector<std::string>& args, const Console& console);

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_SIGHTLINECTL_COMMAND_H_
