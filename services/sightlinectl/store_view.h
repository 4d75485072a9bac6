// What there is in a store, whatever kind of store it is: for commands that look.
#ifndef SIGHTLINE_SERVICES_SIGHTLINECTL_STORE_VIEW_H_
#define SIGHTLINE_SERVICES_SIGHTLINECTL_STORE_VIEW_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "services/sightlinectl/store_place.h"
#include "sightline/bundle/v1/generation.pb.h"

namespace sightline {

class StoreView {
 public:
  virtual ~StoreView() = default;

  // For messages.
  virtual std::string name() const = 0;

  // As ReadCurrent and ReadGenerationManifest; errors as those of ObjectStore too.
  virtual absl::StatusOr<bundle::v1::CurrentGeneration> Current(const std::string& index) const = 0;
  virtual absl::StatusOr<bundle::v1::GenerationManifest> Manifest(
      const std::string& index, const std::string& generation) const = 0;

  // Sorted; empty where there is nothing.
  virtual absl::StatusOr<std::vector<std::string>> Indexes() const = 0;
  virtual absl::StatusOr<std::vector<std::string>> Generations(const std::string& index) const = 0;
};

std::unique_ptr<StoreView> ViewFolder(std::string folder);
std::unique_ptr<StoreView> ViewObjectStore(std::shared_ptr<ObjectStore> store);
// Of the object store if the place has one, else of the folder.
absl::StatusOr<std::unique_ptr<StoreView>> OpenStoreView(const StorePlace& place);

// "it has a, b", for whoever has mistyped a name.
std::string WhatItHas(const std::vector<std::string>& names);

// The status with which a command failed over a name, which was mistyped if the store has none
// such: then its message says so first, or alone where no manifest was found by it, and which ones
// there are.  Without `generation` only the index is
// looked for.
absl::Status WithNames(const absl::Status& status, const StoreView& store, const std::string& index,
                       const std::string& generation = "");

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_SIGHTLINECTL_STORE_VIEW_H_
