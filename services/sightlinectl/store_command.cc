#include "services/sightlinectl/store_command.h"

#include <memory>

#include "absl/strings/str_cat.h"
#include "services/sightlinectl/store_view.h"

namespace sightline {

bool ParseStoreCommand(const Command& command, Flags* flags, const std::vector<std::string>& args,
                       const StoreShape& shape, const Console& console, StoreArguments* arguments,
                       int* status) {
  arguments->place.AddFlags(shape.folder_help, flags);
  if (!ParseArguments(command, flags, args, console, &arguments->words, status)) return false;
  const size_t count = arguments->words.size();
  const std::string places = arguments->place.Settle(shape.places);
  if (count >= shape.min_words && count <= shape.max_words && places.empty()) return true;
  const char* const words =
      shape.min_words > 1 ? "give an index and a generation" : "give an index";
  *status =
      UsageError(command, places.empty() ? words : absl::StrCat(words, ", and ", places), console);
  return false;
}

int FailInStore(const absl::Status& error, const StorePlace& place, const std::string& index,
                const std::string& generation, const Console& console) {
  const absl::StatusOr<std::unique_ptr<StoreView>> store = OpenStoreView(place);
  return Fail(store.ok() ? WithNames(error, **store, index, generation) : error, console);
}

}  // namespace sightline
