#include "common/models/model_cache.h"

#include "absl/strings/str_cat.h"
#include "common/base/error_details.h"
#include "common/base/files.h"
#include "common/base/read_progress.h"
#include "common/base/status_macros.h"
#include "common/bundle/layout.h"
#include "common/bundle/manifest.h"

namespace sightline {
namespace {

// What a loaded model takes beyond its files, rounded up: files may hold fp16 where memory
// holds fp32, and there are the vocabulary's tables.
constexpr int64_t kMemoryPerFileByte = 3;

int64_t MemoryOf(const bundle::v1::ModelBundleManifest& manifest) {
  return kMemoryPerFileByte * FileBytes(manifest);
}

}  // namespace

std::shared_ptr<const Model> ModelCache::Alive(const std::string& id) const {
  MutexLock lock(mutex_);
  const auto found = entries_.find(id);
  return found == entries_.end() ? nullptr : found->second.model.lock();
}

absl::StatusOr<std::shared_ptr<const Model>> ModelCache::Get(const std::string& id) {
  MutexLock loading(load_mutex_);
  std::shared_ptr<const Model> model = Alive(id);
  if (model == nullptr) {
    ASSIGN_OR_RETURN(model, Load(id));
  }
  // Who loads a generation need not wait for the rest of them: libraries read models in their own
  // ways, and one that is alive is not read at all.
  for (const std::string& file : Files(id)) ReadProgress::ExpectOnThread(file, 0);
  return model;
}

absl::StatusOr<std::shared_ptr<const Model>> ModelCache::Load(const std::string& id) {
  ASSIGN_OR_RETURN(ModelBundle bundle, OpenModelBundle(ModelDirectory(store_, id), verify_));
  ASSIGN_OR_RETURN(std::shared_ptr<const Model> model, LoadModel(bundle, options_));
  if (janitor_ != nullptr) model = janitor_->Adopt(std::move(model));
  MutexLock lock(mutex_);
  entries_[id] = {model, bundle.manifest, MemoryOf(bundle.manifest)};
  return model;
}

absl::StatusOr<std::shared_ptr<const Model>> ModelCache::GetCrossEncoder(const std::string& id) {
  ASSIGN_OR_RETURN(std::shared_ptr<const Model> model, Get(id));
  if (model->cross_encoder() != nullptr) return model;
  return MakeError(
      reasons::kNoCrossEncoder,
      absl::StrCat("model ", id, " is named as the reranker, but has no cross-encoder"));
}

absl::StatusOr<int64_t> ModelCache::Footprint(const std::set<std::string>& ids) const {
  int64_t bytes = 0;
  for (const std::string& id : ids) {
    if (Alive(id) != nullptr) {
      MutexLock lock(mutex_);
      bytes += entries_.at(id).bytes;
    } else {
      ASSIGN_OR_RETURN(const auto manifest, ReadModelBundleManifest(ModelDirectory(store_, id)));
      bytes += MemoryOf(manifest);
    }
  }
  return bytes;
}

std::vector<std::string> ModelCache::Files(const std::string& id) const {
  return BundlePaths(ModelDirectory(store_, id));
}

std::map<std::string, bundle::v1::ModelBundleManifest> ModelCache::Loaded() const {
  MutexLock lock(mutex_);
  std::map<std::string, bundle::v1::ModelBundleManifest> loaded;
  for (const auto& [id, entry] : entries_) {
    if (!entry.model.expired()) loaded[id] = entry.manifest;
  }
  return loaded;
}

}  // namespace sightline
