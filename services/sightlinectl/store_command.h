// What commands on the generations of an index have in common: their words, and their store.
#ifndef SIGHTLINE_SERVICES_SIGHTLINECTL_STORE_COMMAND_H_
#define SIGHTLINE_SERVICES_SIGHTLINECTL_STORE_COMMAND_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "common/config/command.h"
#include "services/sightlinectl/store_place.h"

namespace sightline {

struct StoreArguments {
  std::vector<std::string> words;  // an index, and maybe a generation
  StorePlace place;
};

// How many words a command takes, and which places.
struct StoreShape {
  size_t min_words;
  size_t max_words;
  Places places;
  absl::string_view folder_help = "store that holds the index";
};

// When the command is over already, the result is false and `status` the exit status.
bool ParseStoreCommand(const Command& command, Flags* flags, const std::vector<std::string>& args,
                       const StoreShape& shape, const Console& console, StoreArguments* arguments,
                       int* status);

// Tells the error, with the names that the store has if one was mistyped (store_view.h), and
// returns its exit status.
int FailInStore(const absl::Status& error, const StorePlace& place, const std::string& index,
                const std::string& generation, const Console& console);

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_SIGHTLINECTL_STORE_COMMAND_H_
