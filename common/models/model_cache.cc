#include "common/models/model_cache.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/error_details.h"
#include "common/base/files.h"
#include "common/base/read_progress.h"
#include "common/base/status_macros.h"
#include "common/bundle/layout.h"
#include "common/bundle/manifest.h"
#include "common/models/device_passes.h"
#include "common/models/family_manifests.h"

namespace sightline {
namespace {

// What a loaded model takes beyond its files, rounded up: files may hold fp16 where memory
// holds fp32, and there are the vocabulary's tables.
constexpr int64_t kMemoryPerFileByte = 3;

int64_t MemoryOf(const bundle::v1::ModelBundleManifest& manifest) {
  return kMemoryPerFileByte * FileBytes(manifest);
}

// Of a device's, in that precision.
int64_t StackBytesOf(const bundle::v1::ModelBundleManifest& manifest,
                     const std::string& precision) {
  const bundle::v1::TransformerSpec& spec = manifest.transformer();
  const kernels::StackShape shape = {spec.hidden_size(), spec.head_count(),
                                     spec.intermediate_size(),
                                     static_cast<float>(spec.layer_norm_epsilon())};
  const int64_t one = kernels::BytesOfStack(StackOptionsOf(shape, spec.layer_count(), precision));
  int64_t bytes = 0;
  const bool wraps = __builtin_mul_overflow(one, TransformerCountOf(manifest), &bytes);
  return wraps ? std::numeric_limits<int64_t>::max() : bytes;
}

// Sums of lies stay lies.
int64_t SumOf(int64_t a, int64_t b) {
  int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<int64_t>::max() : sum;
}

// Digits of a SHA-256 that tell models of a process apart.
constexpr size_t kShownDigits = 12;

// A model and, for as long as it lives, what it adds to lines of the metrics page.  One that goes
// may do so after its successor has come.
class ShownModel {
 public:
  using Lines = std::vector<std::pair<Gauge, double>>;

  ShownModel(std::shared_ptr<const Model> model, Lines lines)
      : model_(std::move(model)), lines_(std::move(lines)) {
    for (const auto& [line, number] : lines_) line.Add(number);
  }
  ~ShownModel() {
    for (const auto& [line, number] : lines_) line.Add(-number);
  }
  ShownModel(const ShownModel&) = delete;
  ShownModel& operator=(const ShownModel&) = delete;

  const Model* model() const { return model_.get(); }

 private:
  const std::shared_ptr<const Model> model_;
  const Lines lines_;
};

absl::StatusOr<std::shared_ptr<const Model>> CrossEncoderOrError(
    absl::StatusOr<std::shared_ptr<const Model>> model) {
  if (!model.ok() || (*model)->cross_encoder() != nullptr) return model;
  return MakeError(reasons::kNoCrossEncoder,
                   absl::StrCat("model ", (*model)->id(),
                                " is named as the reranker, but has no cross-encoder"));
}

}  // namespace

ModelCache::ModelCache(ModelCacheOptions options)
    : options_(std::move(options)), losses_(options_.on_device_lost) {
  const auto device = DeviceNumberOf(options_.model.execution);
  if (!device.ok() || options_.metrics == nullptr) return;
  passes_ = DevicePassMetrics::Make(options_.metrics, absl::StrCat(*device));
  held_ =
      options_.metrics->AddGauge("device_held_bytes", "Memory of a device that generations take.",
                                 {{"device", absl::StrCat(*device)}});
}

std::shared_ptr<const Model> ModelCache::Alive(const std::string& id, Use use) const {
  MutexLock lock(mutex_);
  const auto found = entries_.find(id);
  if (found == entries_.end()) return nullptr;
  const Entry& entry = found->second;
  if (entry.failed != nullptr && *entry.failed) return nullptr;
  const bool computes = !entry.loaded.precision.empty();
  return use == Use::kPreparing || computes ? entry.model.lock() : nullptr;
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

// Tells the watch how that went, where it was on a device.
absl::StatusOr<std::shared_ptr<const Model>> ModelCache::Load(Use use, const std::string& id,
                                                              const CallContext& call) {
  absl::StatusOr<std::shared_ptr<const Model>> model = LoadNow(use, id, call);
  const auto device = DeviceNumberOf(options_.model.execution);
  if (device.ok() && use == Use::kComputing) losses_.NoteLoad(*device, model.status());
  return model;
}

absl::StatusOr<std::shared_ptr<const Model>> ModelCache::LoadNow(Use use, const std::string& id,
                                                                 const CallContext& call) {
  ASSIGN_OR_RETURN(ModelBundle bundle,
                   OpenModelBundle(ModelDirectory(options_.store, id), options_.verify));
  ModelOptions options = options_.model;
  options.execution.passes = passes_;
  const auto failed = std::make_shared<std::atomic<bool>>(false);
  options.execution.failed = failed;
  LoadedModel loaded{bundle.manifest};
  if (use == Use::kComputing) {
    // Where a model is held already somebody may be waiting for what it computes.
    ComputePool* const idle = Loaded().empty() ? options.pool : nullptr;
    ASSIGN_OR_RETURN(const PrecisionChoice choice,
                     ChosenPrecision(bundle, options_.precision, options.execution, idle, call));
    options.execution.precision = loaded.precision = choice.precision;
    loaded.agreement = choice.agreement;
  } else {
    options.execution = Execution();  // what prepares has no use for a device
  }
  ASSIGN_OR_RETURN(std::shared_ptr<const Model> model, LoadModel(bundle, options));
  const int64_t device_bytes = DeviceBytesOf(use, bundle.manifest, options.execution.precision);
  model = Shown(std::move(model), loaded, device_bytes);
  if (options_.janitor != nullptr) model = options_.janitor->Adopt(std::move(model));
  MutexLock lock(mutex_);
  failed_.erase(std::remove_if(failed_.begin(), failed_.end(),
                               [](const Entry& entry) { return entry.model.expired(); }),
                failed_.end());
  Entry& entry = entries_[id];
  if (entry.failed != nullptr && *entry.failed) failed_.push_back(entry);
  entry = {model, std::move(loaded), MemoryOf(bundle.manifest), device_bytes, failed};
  return model;
}

std::shared_ptr<const Model> ModelCache::Shown(std::shared_ptr<const Model> model,
                                               const LoadedModel& loaded,
                                               int64_t device_bytes) const {
  if (options_.metrics == nullptr || loaded.precision.empty()) return model;
  const Gauge line = options_.metrics->AddGauge(
      "model_agreement",
      "Share of the ten best in float32 that a held model finds in its precision; 0 once it went.",
      {{"model", model->id().substr(0, kShownDigits)}, {"precision", loaded.precision}});
  const auto shown = std::make_shared<const ShownModel>(
      std::move(model),
      ShownModel::Lines{{line, loaded.agreement}, {held_, static_cast<double>(device_bytes)}});
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

absl::StatusOr<int64_t> ModelCache::DeviceBytesOf(const std::string& id) const {
  {
    MutexLock lock(mutex_);
    const auto found = entries_.find(id);
    const bool computes = found != entries_.end() && !found->second.loaded.precision.empty();
    if (computes && !found->second.model.expired() && !*found->second.failed) {
      return found->second.device_bytes;
    }
  }
  ASSIGN_OR_RETURN(const auto manifest,
                   ReadModelBundleManifest(ModelDirectory(options_.store, id)));
  return DeviceBytesOf(Use::kComputing, manifest, Execution().precision);
}

int64_t ModelCache::DeviceBytesOf(Use use, const bundle::v1::ModelBundleManifest& manifest,
                                  const std::string& precision) const {
  if (options_.model.execution.on_cpu() || use == Use::kPreparing) return 0;
  return manifest.has_transformer() ? StackBytesOf(manifest, precision) : 0;
}

absl::StatusOr<device::DeviceInfo> ModelCache::DescribeDevice() {
  MutexLock lock(mutex_);
  if (!device_.has_value()) {
    ASSIGN_OR_RETURN(const int device, DeviceNumberOf(options_.model.execution));
    ASSIGN_OR_RETURN(device_, options_.model.execution.devices->Describe(device));
  }
  return *device_;
}

absl::StatusOr<std::vector<device::DeviceFootprint>> ModelCache::DeviceFootprints(
    const std::set<std::string>& ids) {
  if (options_.model.execution.on_cpu() || ids.empty())
    return std::vector<device::DeviceFootprint>();
  device::DeviceFootprint footprint;
  for (const std::string& id : ids) {
    ASSIGN_OR_RETURN(const int64_t bytes, DeviceBytesOf(id));
    footprint.bytes = SumOf(footprint.bytes, bytes);
  }
  {
    MutexLock lock(mutex_);
    for (const Entry& entry : failed_) {
      if (!entry.model.expired()) footprint.bytes = SumOf(footprint.bytes, entry.device_bytes);
    }
  }
  // What needs no device asks none.
  if (footprint.bytes == 0) return std::vector<device::DeviceFootprint>();
  ASSIGN_OR_RETURN(footprint.device, DeviceNumberOf(options_.model.execution));
  ASSIGN_OR_RETURN(const device::DeviceInfo info, DescribeDevice());
  footprint.limit =
      options_.device_memory_limit > 0 ? options_.device_memory_limit : info.memory_bytes / 10 * 9;
  return std::vector<device::DeviceFootprint>{footprint};
}

std::vector<DeviceStatus> ModelCache::Devices() const {
  const auto number = DeviceNumberOf(options_.model.execution);
  if (!number.ok()) return {};
  DeviceStatus status;
  status.number = *number;
  MutexLock lock(mutex_);
  if (device_.has_value()) {
    status.name = device_->name;
    status.memory_bytes = device_->memory_bytes;
  }
  for (const auto& [id, entry] : entries_) {
    if (!entry.model.expired()) status.held_bytes += entry.device_bytes;
  }
  for (const Entry& entry : failed_) {
    if (!entry.model.expired()) status.held_bytes += entry.device_bytes;
  }
  return {status};
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
