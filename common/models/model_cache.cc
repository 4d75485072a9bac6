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
#include "common/models/inference.h"

namespace sightline {
namespace {

// What a loaded model takes beyond its files, rounded up: files may hold fp16 where memory
// holds fp32, and there are the vocabulary's tables.
constexpr int64_t kMemoryPerFileByte = 3;

// What LibTorch takes of a device for a model that it computes there itself, likewise, with room
// for what lies between its steps.
constexpr int64_t kDeviceBytesPerFileByte = 4;

int64_t MemoryOf(const bundle::v1::ModelBundleManifest& manifest) {
  return kMemoryPerFileByte * FileBytes(manifest);
}

// Sums of lies stay lies.
int64_t SumOf(int64_t a, int64_t b) {
  int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<int64_t>::max() : sum;
}

// Of a device's, in that precision: the stacks, and the layer of regions before one.
int64_t TransformerBytesOf(const bundle::v1::ModelBundleManifest& manifest,
                           const std::string& precision) {
  const bundle::v1::TransformerSpec& spec = manifest.transformer();
  const kernels::StackShape shape = {spec.hidden_size(), spec.head_count(),
                                     spec.intermediate_size(),
                                     static_cast<float>(spec.layer_norm_epsilon())};
  const int64_t one = kernels::BytesOfStack(StackOptionsOf(shape, spec.layer_count(), precision));
  int64_t bytes = 0;
  const bool wraps = __builtin_mul_overflow(one, TransformerCountOf(manifest), &bytes);
  if (wraps) return std::numeric_limits<int64_t>::max();
  return SumOf(bytes, kernels::BytesOfLinear(spec.region_feature_size(), spec.hidden_size()));
}

// Digits of a SHA-256 that tell models of a process apart.
constexpr size_t kShownDigits = 12;

// A model and, for as long as it lives, what it is counted as: what it adds to a line of the
// metrics page, where one that goes may do so after its successor has come, and memory of a device.
class CountedModel {
 public:
  CountedModel(std::shared_ptr<const Model> model, std::shared_ptr<const void> held, Gauge line,
               double agreement)
      : held_(std::move(held)), model_(std::move(model)), line_(line), agreement_(agreement) {
    line_.Add(agreement_);
  }
  ~CountedModel() { line_.Add(-agreement_); }
  CountedModel(const CountedModel&) = delete;
  CountedModel& operator=(const CountedModel&) = delete;

  const Model* model() const { return model_.get(); }

 private:
  const std::shared_ptr<const void> held_;  // is given back after the model
  const std::shared_ptr<const Model> model_;
  const Gauge line_;
  const double agreement_;
};

std::shared_ptr<HeldDevice> DeviceOf(const ModelCacheOptions& options) {
  const Execution& execution = options.model.execution;
  const auto number = DeviceNumberOf(execution);
  if (!number.ok()) return nullptr;
  const auto describe = [devices = execution.devices, number = *number] {
    return devices->Describe(number);
  };
  return HeldDevice::Make(*number, options.device_memory_limit, describe, options.metrics);
}

// Whoever is named already is told of passes, and else the device is.
ModelCacheOptions WithWatch(ModelCacheOptions options, std::shared_ptr<HeldDevice> device) {
  std::shared_ptr<device::PassWatch>& passes = options.model.execution.passes;
  if (passes == nullptr) passes = std::move(device);
  return options;
}

absl::StatusOr<std::shared_ptr<const Model>> CrossEncoderOrError(
    absl::StatusOr<std::shared_ptr<const Model>> model) {
  if (!model.ok() || (*model)->cross_encoder() != nullptr) return model;
  return MakeError(reasons::kNoCrossEncoder,
                   absl::StrCat("model ", (*model)->id(),
                                " is named as the reranker, but has no cross-encoder"));
}

}  // namespace

ModelCache::ModelCache(ModelCacheOptions options)
    : device_(DeviceOf(options)),
      options_(WithWatch(std::move(options), device_)),
      losses_(options_.on_device_lost) {}

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
  if (device_ != nullptr && use == Use::kComputing) {
    losses_.NoteLoad(device_->number(), model.status());
  }
  return model;
}

absl::StatusOr<std::shared_ptr<const Model>> ModelCache::LoadNow(Use use, const std::string& id,
                                                                 const CallContext& call) {
  ASSIGN_OR_RETURN(ModelBundle bundle,
                   OpenModelBundle(ModelDirectory(options_.store, id), options_.verify));
  ModelOptions options = options_.model;
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
  model = Counted(std::move(model), loaded, device_bytes);
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

std::shared_ptr<const Model> ModelCache::Counted(std::shared_ptr<const Model> model,
                                                 const LoadedModel& loaded,
                                                 int64_t device_bytes) const {
  if (loaded.precision.empty()) return model;
  Gauge line;
  if (options_.metrics != nullptr) {
    line = options_.metrics->AddGauge(
        "model_agreement",
        "Share of the ten best in float32 that a held model finds in its precision; 0 once it "
        "went.",
        {{"model", model->id().substr(0, kShownDigits)}, {"precision", loaded.precision}});
  }
  std::shared_ptr<const void> held;
  if (device_ != nullptr) held = device_->Hold(device_bytes);
  const auto counted = std::make_shared<const CountedModel>(std::move(model), std::move(held), line,
                                                            loaded.agreement);
  return {counted, counted->model()};
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
  const bool has_blocks = manifest.has_transformer();
  const int64_t stack = has_blocks ? TransformerBytesOf(manifest, precision) : 0;
  const bool uses_torch = LibTorchHasCuda() && (!has_blocks || manifest.has_grid_extractor());
  return SumOf(stack, uses_torch ? kDeviceBytesPerFileByte * FileBytes(manifest) : 0);
}

absl::StatusOr<std::vector<device::DeviceFootprint>> ModelCache::DeviceFootprints(
    const std::set<std::string>& ids) {
  if (device_ == nullptr || ids.empty()) return std::vector<device::DeviceFootprint>();
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
  footprint.device = device_->number();
  ASSIGN_OR_RETURN(footprint.limit, device_->Limit());
  return std::vector<device::DeviceFootprint>{footprint};
}

std::vector<DeviceStatus> ModelCache::Devices() const {
  return device_ == nullptr ? std::vector<DeviceStatus>() : std::vector{device_->Status()};
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
