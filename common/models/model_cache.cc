#include "common/models/model_cache.h"

#include "absl/strings/str_cat.h"
#include "common/base/error_details.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"
#include "common/bundle/layout.h"
#include "common/bundle/manifest.h"

namespace sightline {
namespace {

// What a loaded model takes beyond its files, rounded up: files may hold fp16 where memory
// holds fp32, and there are the vocabulary's tables.
constexpr int64_t kMemoryPerFileByte = 3;

}  // namespace

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
  if (janitor_ != nullptr) model = janitor_->Adopt(std::move(model));
  entries_[id] = {model, bundle.manifest};
  return model;
}

absl::StatusOr<std::shared_ptr<const Model>> ModelCache::GetCrossEncoder(const std::string& id) {
  ASSIGN_OR_RETURN(std::shared_ptr<const Model> model, Get(id));
  if (model->cross_encoder() != nullptr) return model;
  return WithReason(absl::FailedPreconditionError(absl::StrCat(
                        "model ", id, " is named as the reranker, but has no cross-encoder")),
                    "NO_CROSS_ENCODER");
}

absl::StatusOr<int64_t> ModelCache::Footprint(const std::set<std::string>& ids) const {
  int64_t bytes = 0;
  for (const std::string& id : ids) {
    ASSIGN_OR_RETURN(const int64_t files, ModelBundleBytes(ModelDirectory(store_, id)));
    bytes += kMemoryPerFileByte * files;
  }
  return bytes;
}

std::vector<std::string> ModelCache::Files(const std::string& id) const {
  const std::string directory = ModelDirectory(store_, id);
  return {JoinPath(directory, kManifestFile), JoinPath(directory, kWeightsFile),
          JoinPath(directory, kVocabularyFile)};
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
