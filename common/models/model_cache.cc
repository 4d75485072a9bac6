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

// Digits of a SHA-256 that tell models of a process apart.
constexpr size_t kShownDigits = 12;

// A model and, for as long as it lives, its line on the metrics page.  One that goes may do so
// after its successor has come.
class ShownModel {
 public:
  ShownModel(std::shared_ptr<const Model> model, Gauge line, double agreement)
      : model_(std::move(model)), line_(line), agreement_(agreement) {
    line_.Add(agreement_);
  }
  ~ShownModel() { line_.Add(-agreement_); }
  ShownModel(const ShownModel&) = delete;
  ShownModel& operator=(const ShownModel&) = delete;

  const Model* model() const { return model_.get(); }

 private:
  const std::shared_ptr<const Model> model_;
  const Gauge line_;
  const double agreement_;
};

absl::StatusOr<std::shared_ptr<const Model>> CrossEncoderOrError(
    absl::StatusOr<std::shared_ptr<const Model>> model) {
  if (!model.ok() || (*model)->cross_encoder() != nullptr) return model;
  return MakeError(reasons::kNoCrossEncoder,
                   absl::StrCat("model ", (*model)->id(),
                                " is named as the reranker, but has no cross-encoder"));
}

}  // namespace

std::shared_ptr<const Model> ModelCache::Alive(const std::string& id, Use use) const {
  MutexLock lock(mutex_);
  const auto found = entries_.find(id);
  if (found == entries_.end()) return nullptr;
  const bool computes = !found->second.loaded.precision.empty();
  return use == Use::kPreparing || computes ? found->second.model.lock() : nullptr;
}

absl::StatusOr<std::shared_ptr<const Model>> ModelCache::GetFor(Use use, const std::string& id,
                                                                const CallContext& call) {
  MutexLock loading(load_mutex_);
  std::shared_ptr<const Model> model = Alive(id, use);
  if (model == nullptr) {
    ASSIGN_OR_RETURN(model, Load(use, id, call));
  }
  // Who loads a generation need not wait for the rest of them: libraries read models in their own
  // ways, and one that is alive is not read at all.
  for (const std::string& file : Files(id)) ReadProgress::ExpectOnThread(file, 0);
  return model;
}

absl::StatusOr<std::shared_ptr<const Model>> ModelCache::Get(const std::string& id,
                                                             const CallContext& call) {
  return GetFor(Use::kComputing, id, call);
}

absl::StatusOr<std::shared_ptr<const Model>> ModelCache::Load(Use use, const std::string& id,
                                                              const CallContext& call) {
  ASSIGN_OR_RETURN(ModelBundle bundle,
                   OpenModelBundle(ModelDirectory(options_.store, id), options_.verify));
  ModelOptions options = options_.model;
  LoadedModel loaded{bundle.manifest};
  if (use == Use::kComputing) {
    // Where a model is held already somebody may be waiting for what it computes.
    ComputePool* const idle = Loaded().empty() ? options.pool : nullptr;
    ASSIGN_OR_RETURN(const PrecisionChoice choice,
                     ChosenPrecision(bundle, options_.precision, idle, call));
    options.execution.precision = loaded.precision = choice.precision;
    loaded.agreement = choice.agreement;
  }
  ASSIGN_OR_RETURN(std::shared_ptr<const Model> model, LoadModel(bundle, options));
  model = Shown(std::move(model), loaded);
  if (options_.janitor != nullptr) model = options_.janitor->Adopt(std::move(model));
  MutexLock lock(mutex_);
  entries_[id] = {model, std::move(loaded), MemoryOf(bundle.manifest)};
  return model;
}

std::shared_ptr<const Model> ModelCache::Shown(std::shared_ptr<const Model> model,
                                               const LoadedModel& loaded) const {
  if (options_.metrics == nullptr || loaded.precision.empty()) return model;
  const Gauge line = options_.metrics->AddGauge(
      "model_agreement",
      "Share of the ten best in float32 that a held model finds in its precision; 0 once it went.",
      {{"model", model->id().substr(0, kShownDigits)}, {"precision", loaded.precision}});
  const auto shown = std::make_shared<const ShownModel>(std::move(model), line, loaded.agreement);
  return {shown, shown->model()};
}

absl::StatusOr<std::shared_ptr<const Model>> ModelCache::GetCrossEncoder(const std::string& id,
                                                                         const CallContext& call) {
  return CrossEncoderOrError(GetFor(Use::kComputing, id, call));
}

absl::StatusOr<std::shared_ptr<const Model>> ModelCache::GetPreparing(const std::string& id) {
  return CrossEncoderOrError(GetFor(Use::kPreparing, id, CallContext::Unbounded()));
}

absl::StatusOr<int64_t> ModelCache::Footprint(const std::set<std::string>& ids) const {
  int64_t bytes = 0;
  for (const std::string& id : ids) {
    if (Alive(id, Use::kPreparing) != nullptr) {
      MutexLock lock(mutex_);
      bytes += entries_.at(id).bytes;
    } else {
      ASSIGN_OR_RETURN(const auto manifest,
                       ReadModelBundleManifest(ModelDirectory(options_.store, id)));
      bytes += MemoryOf(manifest);
    }
  }
  return bytes;
}

std::vector<std::string> ModelCache::Files(const std::string& id) const {
  return BundlePaths(ModelDirectory(options_.store, id));
}

std::string ModelCache::PrecisionOf(const std::string& id) const {
  MutexLock lock(mutex_);
  const auto found = entries_.find(id);
  return found == entries_.end() ? std::string() : found->second.loaded.precision;
}

LoadedModels ModelCache::Loaded() const {
  MutexLock lock(mutex_);
  LoadedModels loaded;
  for (const auto& [id, entry] : entries_) {
    if (!entry.model.expired()) loaded[id] = entry.loaded;
  }
  return loaded;
}

}  // namespace sightline
