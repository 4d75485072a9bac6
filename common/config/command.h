// Programs made of subcommands: what one is, and how the right one is found and run.
//
//   inline constexpr Command kQueryCommand = {"query", "tool query [TEXT]", "finds", RunQuery};
//   int main(int argc, char** argv) {
//     return RunMain({"tool", "asks and tells.", {kQueryCommand}}, argc, argv);
//   }
#ifndef SIGHTLINE_COMMON_CONFIG_COMMAND_H_
#define SIGHTLINE_COMMON_CONFIG_COMMAND_H_

#include <ostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "common/config/command_line.h"
#include "common/config/exit_status.h"

namespace sightline {

// Where a command writes: results to `out`, everything about them to `err`.
struct Console {
  std::ostream& out;
  std::ostream& err;
};

// One subcommand.  `run` gets what follows the command's name and returns the exit
// status.
struct Command {
  absl::string_view name;
  absl::string_view synopsis;  // "tool query [TEXT] [flags]"
  absl::string_view summary;   // one line
  int (*run)(const std::vector<std::string>& args, const Console& console);
};

struct Program {
  absl::string_view name;
  absl::string_view summary;      // "asks, inspects and publishes."
  std::vector<Command> commands;  // in the order of the help
  // Commands that a larger program of the same name has, and where that is found: "the image x has
  // them".
  std::vector<absl::string_view> elsewhere = {};
  absl::string_view where = {};
};

// Finds and runs the command that `args` begins with; without one, or for "help", prints
// what there is.
int RunProgram(const Program& program, const std::vector<std::string>& args,
               const Console& console);

// main() of a program: RunProgram on the standard streams.  EndOnSignals holds, unless a command
// listens for signals.
int RunMain(const Program& program, int argc, char** argv);

// Parses the flags of `command`.  When the command is thereby over (--help, or a mistake,
// which is told), the result is false and `status` the exit status.
bool ParseArguments(const Command& command, Flags* flags, const std::vector<std::string>& args,
                    const Console& console, std::vector<std::string>* words, int* status);

// Tells what is wrong with the command line and returns kUsageError.
int UsageError(const Command& command, absl::string_view problem, const Console& console);

// Tells the error with all its details and returns ExitStatusOf it.
int Fail(const absl::Status& error, const Console& console);

// "error: NOT_FOUND: ...", a message of several lines with those behind the first farther in than
// any detail; then one indented line for each detail: reason, fields, preconditions, when to try
// again.
std::string FormatError(const absl::Status& error);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_CONFIG_COMMAND_H_
