#include "common/models/model_cache.h"

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/bundle/generation.h"

namespace sightline {

absl::StatusOr<std::shared_ptr<const Model>> ModelCache::Get(const std::string& id) {
  std::lock_guard<std::mutex> lock(mutex_);
  auto found = entries_.find(id);
  if (found != entries_.end()) {
    if (std::shared_ptr<const Model> alive = found->second.model.lock()) return alive;
    entries_.erase(found);
  }
  ASSIGN_OR_RETURN(ModelBundle bundle, OpenModelBundle(ModelDirectory(store_, id), verify_));
  if (bundle.id != id) {
    return absl::DataLossError(absl::StrCat("the bundle in ", bundle.directory, " has the SHA-256 ",
                                            bundle.id, ", not ", id));
  }
  ASSIGN_OR_RETURN(std::shared_ptr<const Model> model, LoadModel(bundle, options_));
  entries_[id] = {model, bundle.manifest};
  return model;
}

std::map<std::string, bundle::v1::ModelBundleManifest> ModelCache::Loaded() const {
  std::lock_guard<std::mutex> lock(mutex_);
  std::map<std::string, bundle::v1::ModelBundleManifest> loaded;
  for (const auto& [id, entry] : entries_) {
    if (!entry.model.expired()) loaded[id] = entry.manifest;
  }
  return loaded;
}

}  // namespace sightline
