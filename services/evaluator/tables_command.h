// `tables`: the papers' tables from matrices of scores.
#ifndef SIGHTLINE_SERVICES_EVALUATOR_TABLES_COMMAND_H_
#define SIGHTLINE_SERVICES_EVALUATOR_TABLES_COMMAND_H_

#include <string>
#include <vector>

#include "common/config/command.h"

namespace sightline {

int RunTables(const std::vector<std::string>& args, const Console& console);

inline constexpr Command kTablesCommand = {
    "tables", "evaluator tables --matrix NAME=FILE.npy... --pairs FILE.jsonl [flags]",
    "prints the papers' tables from matrices of scores, by the papers' protocols", RunTables};

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_EVALUATOR_TABLES_COMMAND_H_
