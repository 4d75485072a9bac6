// The models of a process, by hash: each is loaded once, however many generations need it.
#ifndef SIGHTLINE_COMMON_MODELS_MODEL_CACHE_H_
#define SIGHTLINE_COMMON_MODELS_MODEL_CACHE_H_

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/mutex.h"
#include "common/bundle/model_bundle.h"
#include "common/generations/janitor.h"
#include "common/models/model.h"

namespace sightline {

// Thread-safe.  A model lives as long as somebody holds it.
class ModelCache {
 public:
  // Bundles lie in `<store>/models/`; `verify` compares their checksums before loading.
  // `janitor` frees the models; null: whoever lets go last.
  ModelCache(std::string store, const ModelOptions& options, bool verify,
             Janitor* janitor = nullptr)
      : store_(std::move(store)), options_(options), verify_(verify), janitor_(janitor) {}

  // The model of that SHA-256, loaded if need be.  Errors as OpenModelBundle and
  // LoadModel.  Loading blocks other callers of Get, and nobody else.
  absl::StatusOr<std::shared_ptr<const Model>> Get(const std::string& id);

  // Likewise, for a model that is to rerank: FailedPrecondition (NO_CROSS_ENCODER) if it
  // cannot.
  absl::StatusOr<std::shared_ptr<const Model>> GetCrossEncoder(const std::string& id);

  // Bytes of memory that it takes to hold these models, each counted once.  Of those that
  // are alive that is known; for the others errors are as those of OpenModelBundle.
  absl::StatusOr<int64_t> Footprint(const std::set<std::string>& ids) const;

  // The files of a model's bundle, for telling whether they changed.
  std::vector<std::string> Files(const std::string& id) const;

  // Manifests of the models that are alive, by id.
  std::map<std::string, bundle::v1::ModelBundleManifest> Loaded() const;

 private:
  struct Entry {
    std::weak_ptr<const Model> model;
    bundle::v1::ModelBundleManifest manifest;
    int64_t bytes = 0;  // of memory
  };

  std::shared_ptr<const Model> Alive(const std::string& id) const EXCLUDES(mutex_);
  absl::StatusOr<std::shared_ptr<const Model>> Load(const std::string& id) REQUIRES(load_mutex_)
      EXCLUDES(mutex_);

  const std::string store_;
  const ModelOptions options_;
  const bool verify_;
  Janitor* const janitor_;

  Mutex load_mutex_;  // held while a model is loaded
  mutable Mutex mutex_;
  std::map<std::string, Entry> entries_ GUARDED_BY(mutex_);
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_MODELS_MODEL_CACHE_H_
