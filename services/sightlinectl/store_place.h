// Where a command finds a store: in a folder, in an object store, or in both.
#ifndef SIGHTLINE_SERVICES_SIGHTLINECTL_STORE_PLACE_H_
#define SIGHTLINE_SERVICES_SIGHTLINECTL_STORE_PLACE_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/config/command_line.h"
#include "common/object_store/object_store.h"

namespace sightline {

// What a command works on.
enum class Places { kOne, kOneOrBoth, kBoth };

struct StorePlace {
  std::string folder;
  std::string url, endpoint;  // of an object store; keys are those of the environment

  // `folder_help` says what the command does with the folder.
  void AddFlags(absl::string_view folder_help, Flags* flags);

  // After the flags were parsed.  $SIGHTLINE_OBJECT_STORE counts where they name no place at all,
  // or only the folder of both that the command needs: nobody who names a folder means another
  // store.  Returns which places the command wants, for its usage, if it has others; else "".
  std::string Settle(Places wanted);

  bool is_empty() const { return folder.empty() && url.empty(); }
  bool is_remote() const { return !url.empty(); }

  // Of a place that is remote.
  absl::StatusOr<std::unique_ptr<ObjectStore>> OpenObjectStore() const;
};

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_SIGHTLINECTL_STORE_PLACE_H_
