// What an operator does with the generations of an index, in the store itself: `publish`,
// `rollback` and `prune`.
#ifndef SIGHTLINE_SERVICES_SIGHTLINECTL_GENERATION_COMMANDS_H_
#define SIGHTLINE_SERVICES_SIGHTLINECTL_GENERATION_COMMANDS_H_

#include <string>
#include <vector>

#include "common/config/command.h"

namespace sightline {

int RunPublish(const std::vector<std::string>& args, const Console& console);
int RunRollback(const std::vector<std::string>& args, const Console& console);
int RunPrune(const std::vector<std::string>& args, const Console& console);

inline constexpr Command kPublishCommand = {
    "publish",
    "sightlinectl publish INDEX GENERATION [--store DIR] [--object-store URL] [--resend]",
    "makes a generation the one that servers should serve", RunPublish};

inline constexpr Command kRollbackCommand = {
    "rollback",
    "sightlinectl rollback INDEX {--store DIR | --object-store URL} [--from GENERATION]",
    "publishes again what was published before; twice goes back twice", RunRollback};

inline constexpr Command kPruneCommand = {
    "prune",
    "sightlinectl prune INDEX [--store DIR] [--object-store URL] [--keep N] [--grace TIME] "
    "[--dry-run]",
    "removes all but the last published generations", RunPrune};

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_SIGHTLINECTL_GENERATION_COMMANDS_H_
