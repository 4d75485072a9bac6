#include "common/config/command.h"

#include <algorithm>
#include <iostream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/base/error_details.h"
#include "common/config/nearest_name.h"
#include "common/config/standard_descriptors.h"
#include "common/config/table.h"

namespace sightline {
namespace {

void PrintHelp(const Program& program, std::ostream& out) {
  out << program.name << ": " << program.summary << "\n\n";
  Table table({{""}, {""}});
  for (const Command& command : program.commands) {
    table.AddRow({absl::StrCat("  ", command.name), std::string(command.summary)});
  }
  out << table.RowsToString() << "\n`" << program.name
      << " COMMAND --help` tells the flags of a command.\n";
  if (program.elsewhere.empty()) return;
  out << "Not here: " << absl::StrJoin(program.elsewhere, ", ") << "; " << program.where << ".\n";
}

// Why there is no such command.
std::string UnknownCommand(const Program& program, const std::string& name) {
  const auto& elsewhere = program.elsewhere;
  if (std::find(elsewhere.begin(), elsewhere.end(), name) != elsewhere.end()) {
    return absl::StrCat("this ", program.name, " has no command '", name, "'; ", program.where);
  }
  std::vector<std::string> names;
  for (const Command& command : program.commands) names.emplace_back(command.name);
  const std::string there = absl::StrJoin(names, ", ");
  for (const absl::string_view other : elsewhere) names.emplace_back(other);
  const std::string nearest = NearestName(name, names);
  return absl::StrCat("unknown command '", name, "'; ",
                      nearest.empty() ? absl::StrCat("there are: ", there)
                                      : absl::StrCat("did you mean ", nearest, "?"));
}

}  // namespace

int RunProgram(const Program& program, const std::vector<std::string>& args,
               const Console& console) {
  if (args.empty()) {
    PrintHelp(program, console.err);
    return kUsageError;
  }
  if (args[0] == "help" || args[0] == "--help" || args[0] == "-h") {
    PrintHelp(program, console.out);
    return kSuccess;
  }
  for (const Command& command : program.commands) {
    if (command.name == args[0]) return command.run({args.begin() + 1, args.end()}, console);
  }
  console.err << UnknownCommand(program, args[0]) << "\n";
  return kUsageError;
}

int RunMain(const Program& program, int argc, char** argv) {
  TakeStandardDescriptors();
  EndOnSignals();
  return WithOutput(
      RunProgram(program, {argv + std::min(argc, 1), argv + argc}, {std::cout, std::cerr}));
}

bool ParseArguments(const Command& command, Flags* flags, const std::vector<std::string>& args,
                    const Console& console, std::vector<std::string>* words, int* status) {
  bool help = false;
  flags->Switch("help", "tell this and stop", &help);
  absl::StatusOr<std::vector<std::string>> parsed = flags->Parse(args);
  if (help) {
    console.out << "usage: " << command.synopsis << "\n\n"
                << command.summary << "\n\n"
                << flags->Help();
    *status = kSuccess;
    return false;
  }
  if (!parsed.ok()) {
    *status = UsageError(command, std::string(parsed.status().message()), console);
    return false;
  }
  *words = *std::move(parsed);
  return true;
}

int UsageError(const Command& command, absl::string_view problem, const Console& console) {
  console.err << problem << "\nusage: " << command.synopsis << "\n";
  return kUsageError;
}

int Fail(const absl::Status& error, const Console& console) {
  console.err << FormatError(error);
  return ExitStatusOf(error);
}

std::string FormatError(const absl::Status& error) {
  std::vector<std::string> lines;
  for (const absl::string_view line : absl::StrSplit(error.message(), '\n')) {
    lines.push_back(Printable(std::string(line), /*max_width=*/0));
  }
  std::string text = absl::StrCat("error: ", absl::StatusCodeToString(error.code()), ": ",
                                  absl::StrJoin(lines, "\n    "), "\n");
  if (const auto reason = GetReason(error)) {
    absl::StrAppend(&text, "  reason: ", Printable(reason->reason, 0));
    for (const auto& [key, value] : reason->metadata) {
      absl::StrAppend(&text, " ", Printable(key, 0), "=", Printable(value, 0));
    }
    text += "\n";
  }
  const std::vector<std::string> fields = GetFields(error);
  if (!fields.empty()) {
    absl::StrAppend(&text, "  fields: ", Printable(absl::StrJoin(fields, ", "), 0), "\n");
  }
  for (const PreconditionViolation& violation : GetPreconditions(error)) {
    absl::StrAppend(&text, "  precondition: ", Printable(violation.type, 0), " ",
                    Printable(violation.subject, 0), ": ", Printable(violation.description, 0),
                    "\n");
  }
  const auto delay = GetRetryDelay(error);
  if (delay.has_value() && *delay != absl::InfiniteDuration()) {
    absl::StrAppend(&text, "  try again after ", absl::FormatDuration(*delay), "\n");
  }
  return text;
}

}  // namespace sightline
