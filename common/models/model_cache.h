// The models of a process, by hash: each is loaded once, however many generations need it.
#ifndef SIGHTLINE_COMMON_MODELS_MODEL_CACHE_H_
#define SIGHTLINE_COMMON_MODELS_MODEL_CACHE_H_

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/bundle/model_bundle.h"
#include "common/models/model.h"

namespace sightline {

// Thread-safe.  A model lives as long as somebody holds it.
class ModelCache {
 public:
  // Bundles lie in `<store>/models/`; `verify` compares their checksums before loading.
  ModelCache(std::string store, const ModelOptions& options, bool verify)
      : store_(std::move(store)), options_(options), verify_(verify) {}

  // The model of that SHA-256, loaded if need be.  Errors as OpenModelBundle and
  // LoadModel.  Loading blocks other callers.
  absl::StatusOr<std::shared_ptr<const Model>> Get(const std::string& id);

  // Manifests of the models that are alive, by id.
  std::map<std::string, bundle::v1::ModelBundleManifest> Loaded() const;

 private:
  struct Entry {
    std::weak_ptr<const Model> model;
    bundle::v1::ModelBundleManifest manifest;
  };

  const std::string store_;
  const ModelOptions options_;
  const bool verify_;
  mutable std::mutex mutex_;
  std::map<std::string, Entry> entries_;  // guarded by mutex_
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_MODELS_MODEL_CACHE_H_
