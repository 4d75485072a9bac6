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

struct StorePlace {
  std::string folder;
  std::string url, endpoint;  // of an object store; keys are those of the environment

  // `folder_help` says what the command does with the folder.
  void AddFlags(absl::string_view folder_help, Flags* flags);

  bool is_empty() const { return folder.empty() && url.empty(); }
  bool is_remote() const { return !url.empty(); }

  // Of a place that is remote.
  absl::StatusOr<std::unique_ptr<ObjectStore>> OpenObjectStore() const;
};

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_SIGHTLINECTL_STORE_PLACE_H_
