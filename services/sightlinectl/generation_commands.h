// What an operator does with the generations of an index, in the store itself: `publish`,
// `rollback`, `prune`, `verify` and `fetch`.
#ifndef SIGHTLINE_SERVICES_SIGHTLINECTL_GENERATION_COMMANDS_H_
#define SIGHTLINE_SERVICES_SIGHTLINECTL_GENERATION_COMMANDS_H_

#include <string>
#include <vector>

#include "common/config/command.h"

namespace sightline {

int RunPublish(const std::vector<std::string>& args, const Console& console);
int RunRollback(const std::vector<std::string>& args, const Console& console);
int RunPrune(const std::vector<std::string>& args, const Console& console);
int RunVerify(const std::vector<std::string>& args, const Console& console);
int RunFetch(const std::vector<std::string>& args, const Console& console);

inline constexpr Command kPublishCommand = {
    "publish",
    "sightlinectl publish INDEX GENERATION [--store DIR] [--object-store URL] [--resend]",
    "makes a generation the one that servers should serve", RunPublish};

inline constexpr Command kRollbackCommand = {
    "rollback", "sightlinectl rollback INDEX {--store DIR | --object-store URL}",
    "publishes again what was published before; twice goes back twice", RunRollback};

inline constexpr Command kPruneCommand = {
    "prune",
    "sightlinectl prune INDEX [--store DIR] [--object-store URL] [--keep N] [--grace TIME] "
    "[--dry-run]",
    "removes all but the last published generations", RunPrune};

inline constexpr Command kVerifyCommand = {
    "verify", "sightlinectl verify INDEX [GENERATION] --store DIR",
    "reads a generation and its models, and compares all checksums", RunVerify};

inline constexpr Command kFetchCommand = {
    "fetch", "sightlinectl fetch INDEX [GENERATION] --object-store URL --store DIR",
    "brings a generation and its models from an object store into a folder", RunFetch};

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_SIGHTLINECTL_GENERATION_COMMANDS_H_
