#include "services/sightlinectl/command.h"

#include <iterator>

#include "services/sightlinectl/large_commands.h"
#include "services/sightlinectl/small_command.h"

namespace sightline {

const std::vector<Command>& Commands() {
  static const auto* commands = [] {
    auto* const all = new std::vector<Command>(SmallCommands());
    all->insert(all->end(), std::begin(kLargeCommands), std::end(kLargeCommands));
    return all;
  }();
  return *commands;
}

Program Sightlinectl() {
  Program program = SmallSightlinectl();
  program.commands = Commands();
  program.elsewhere.clear();
  return program;
}

int RunCommand(const std::vector<std::string>& args, const Console& console) {
  return RunProgram(Sightlinectl(), args, console);
}

}  // namespace sightline
