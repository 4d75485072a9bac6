// The subcommands of the evaluator.
#ifndef SIGHTLINE_SERVICES_EVALUATOR_COMMANDS_H_
#define SIGHTLINE_SERVICES_EVALUATOR_COMMANDS_H_

#include <string>
#include <vector>

#include "common/config/command.h"

namespace sightline {

Program Evaluator();

// Runs the evaluator with `args`, the program's name left out.
int RunEvaluator(const std::vector<std::string>& args, const Console& console);

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_EVALUATOR_COMMANDS_H_
