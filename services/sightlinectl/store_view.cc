#include "services/sightlinectl/store_view.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/call_context.h"
#include "common/base/error_details.h"
#include "common/base/files.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/bundle/generation.h"
#include "common/bundle/layout.h"
#include "common/bundle/publication.h"
#include "common/object_store/object_keys.h"
#include "common/object_store/remote_publication.h"
#include "common/object_store/visit_objects.h"

namespace sightline {
namespace {

using bundle::v1::CurrentGeneration;
using bundle::v1::GenerationManifest;
using Names = std::vector<std::string>;

constexpr size_t kTold = 20;  // names in a message

// Without what is being written, set aside or not ours.
Names ValidNames(Names names, int max_length) {
  const auto is_no_name = [&](const std::string& name) { return !IsValidName(name, max_length); };
  names.erase(std::remove_if(names.begin(), names.end(), is_no_name), names.end());
  std::sort(names.begin(), names.end());
  return names;
}

bool Has(const Names& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

class FolderView : public StoreView {
 public:
  explicit FolderView(std::string folder) : folder_(std::move(folder)) {}

  std::string name() const override { return folder_; }
  absl::StatusOr<CurrentGeneration> Current(const std::string& index) const override {
    return ReadCurrent(folder_, index);
  }
  absl::StatusOr<GenerationManifest> Manifest(const std::string& index,
                                              const std::string& generation) const override {
    return ReadGenerationManifest(folder_, index, generation);
  }
  absl::StatusOr<Names> Indexes() const override {
    return NamesIn(JoinPath(folder_, "indexes"), limits::kMaxIndexNameLength);
  }
  absl::StatusOr<Names> Generations(const std::string& index) const override {
    RETURN_IF_ERROR(CheckIndexName(index));
    return NamesIn(JoinPath(IndexDirectory(folder_, index), "generations"),
                   limits::kMaxGenerationNameLength);
  }

 private:
  static absl::StatusOr<Names> NamesIn(const std::string& directory, int max_length) {
    absl::StatusOr<Names> names = ListDirectory(directory);
    if (absl::IsNotFound(names.status())) return Names();
    RETURN_IF_ERROR(names.status());
    return ValidNames(*std::move(names), max_length);
  }

  const std::string folder_;
};

class ObjectStoreView : public StoreView {
 public:
  explicit ObjectStoreView(std::shared_ptr<ObjectStore> store) : store_(std::move(store)) {}

  std::string name() const override { return store_->name(); }
  absl::StatusOr<CurrentGeneration> Current(const std::string& index) const override {
    return ReadRemoteCurrent(store_.get(), index, call_);
  }
  absl::StatusOr<GenerationManifest> Manifest(const std::string& index,
                                              const std::string& generation) const override {
    return ReadRemoteManifest(store_.get(), index, generation, call_);
  }
  absl::StatusOr<Names> Indexes() const override {
    ASSIGN_OR_RETURN(Names names, ListFolders(store_.get(), kIndexesPrefix, call_));
    return ValidNames(std::move(names), limits::kMaxIndexNameLength);
  }
  absl::StatusOr<Names> Generations(const std::string& index) const override {
    RETURN_IF_ERROR(CheckIndexName(index));
    ASSIGN_OR_RETURN(Names names, ListFolders(store_.get(), GenerationsPrefix(index), call_));
    return ValidNames(std::move(names), limits::kMaxGenerationNameLength);
  }

 private:
  const std::shared_ptr<ObjectStore> store_;
  const CallContext call_ = CallContext::Unbounded();
};

}  // namespace

std::unique_ptr<StoreView> ViewFolder(std::string folder) {
  return std::make_unique<FolderView>(std::move(folder));
}

std::unique_ptr<StoreView> ViewObjectStore(std::shared_ptr<ObjectStore> store) {
  return std::make_unique<ObjectStoreView>(std::move(store));
}

absl::StatusOr<std::unique_ptr<StoreView>> OpenStoreView(const StorePlace& place) {
  if (!place.is_remote()) return ViewFolder(place.folder);
  ASSIGN_OR_RETURN(std::shared_ptr<ObjectStore> store, place.OpenObjectStore());
  return ViewObjectStore(std::move(store));
}

std::string WhatItHas(const Names& names) {
  if (names.empty()) return "it has none";
  const size_t told = std::min(names.size(), kTold);
  return absl::StrCat(
      "it has ", absl::StrJoin(names.begin(), names.begin() + told, ", "),
      told < names.size() ? absl::StrCat(" and ", names.size() - told, " more") : "");
}

absl::Status WithNames(const absl::Status& status, const StoreView& store, const std::string& index,
                       const std::string& generation) {
  if (!absl::IsNotFound(status) && !absl::IsFailedPrecondition(status)) return status;
  const absl::StatusOr<Names> indexes = store.Indexes();
  if (!indexes.ok()) return status;  // the first trouble tells more than the second
  // Where nothing else failed, what brings there what is missing is no advice for a wrong name.
  const auto mistyped = [&](const std::string& told) {
    return HasReason(status, reasons::kManifestMissing) ? MakeError(reasons::kManifestMissing, told)
                                                        : WithPrefix(status, told);
  };
  if (!Has(*indexes, index)) {
    return mistyped(
        absl::StrCat(store.name(), " has no index '", index, "' (", WhatItHas(*indexes), ")"));
  }
  if (generation.empty()) return status;
  const absl::StatusOr<Names> generations = store.Generations(index);
  if (!generations.ok() || Has(*generations, generation)) return status;
  return mistyped(absl::StrCat("index ", index, " has no generation '", generation, "' in ",
                               store.name(), " (", WhatItHas(*generations), ")"));
}

}  // namespace sightline
