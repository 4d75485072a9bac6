// The models of a process, by hash: each is loaded once, however many generations need it.
#ifndef SIGHTLINE_COMMON_MODELS_MODEL_CACHE_H_
#define SIGHTLINE_COMMON_MODELS_MODEL_CACHE_H_

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/api/server_status.h"
#include "common/base/call_context.h"
#include "common/base/mutex.h"
#include "common/bundle/loaded_model.h"
#include "common/bundle/model_bundle.h"
#include "common/device/device_info.h"
#include "common/device/loss_watch.h"
#include "common/generations/held_device.h"
#include "common/generations/janitor.h"
#include "common/metrics/metrics.h"
#include "common/models/model.h"
#include "common/models/precision/chosen_precision.h"

namespace sightline {

struct ModelCacheOptions {
  std::string store;   // whose `models/` has the bundles
  ModelOptions model;  // but for the precision, which `precision` chooses
  PrecisionOptions precision;
  bool verify = true;  // compares checksums before loading
  // Of the device that `model` names, for all models; 0: nine tenths of what it has.
  int64_t device_memory_limit = 0;
  // That of device::LossWatch.
  std::function<void(const absl::Status& why)> on_device_lost;
  Janitor* janitor = nullptr;  // frees the models; null: whoever lets go last
  // Outlives the models, and has passes on a device too; null for none.
  MetricsRegistry* metrics = nullptr;
};

// Thread-safe.  A model lives as long as somebody holds it; one whose device has failed is given to
// nobody else, and loaded anew.
class ModelCache {
 public:
  explicit ModelCache(ModelCacheOptions options);

  // The model of that SHA-256, loaded if need be, in the precision that is chosen for it.  Errors
  // as OpenModelBundle, ChosenPrecision and LoadModel.  Loading blocks other callers of Get, and
  // nobody else; measuring precisions ends early when `call` does.
  absl::StatusOr<std::shared_ptr<const Model>> Get(
      const std::string& id, const CallContext& call = CallContext::Unbounded());

  // Likewise, for a model that is to rerank: FailedPrecondition (NO_CROSS_ENCODER) if it
  // cannot.
  absl::StatusOr<std::shared_ptr<const Model>> GetCrossEncoder(
      const std::string& id, const CallContext& call = CallContext::Unbounded());

  // A cross-encoder that only prepares features, in which precision does not matter: the one that
  // is alive, or one in float32 that nothing was measured for.
  absl::StatusOr<std::shared_ptr<const Model>> GetPreparing(const std::string& id);

  // Bytes of memory that it takes to hold these models, each counted once.  Of those that
  // are alive that is known; for the others errors are as those of OpenModelBundle.
  absl::StatusOr<int64_t> Footprint(const std::set<std::string>& ids) const;

  // Likewise of the device, and what may be used of it: none if they take nothing of one.  Of those
  // that are not alive what they take in float32, in which precisions are measured.  UNAVAILABLE
  // (DEVICE_FAILED) if the device cannot be asked.
  absl::StatusOr<std::vector<device::DeviceFootprint>> DeviceFootprints(
      const std::set<std::string>& ids);

  // The device that models are on, if they are on one.
  std::vector<DeviceStatus> Devices() const;

  // The files of a model's bundle, for telling whether they changed.
  std::vector<std::string> Files(const std::string& id) const;

  // What a model that Get or GetCrossEncoder gave computes in, while it is held; else empty.
  std::string PrecisionOf(const std::string& id) const;

  // Those that are alive, by id.
  LoadedModels Loaded() const;

 private:
  // What a model is loaded for.
  enum class Use { kComputing, kPreparing };
  struct Entry {
    std::weak_ptr<const Model> model;
    LoadedModel loaded;
    int64_t bytes = 0;                                // of memory
    int64_t device_bytes = 0;                         // of the device's
    std::shared_ptr<const std::atomic<bool>> failed;  // its device has, once that is set
  };

  std::shared_ptr<const Model> Alive(const std::string& id, Use use) const EXCLUDES(mutex_);
  absl::StatusOr<std::shared_ptr<const Model>> GetFor(Use use, const std::string& id,
                                                      const CallContext& call);
  absl::StatusOr<std::shared_ptr<const Model>> Load(Use use, const std::string& id,
                                                    const CallContext& call) REQUIRES(load_mutex_)
      EXCLUDES(mutex_);
  absl::StatusOr<std::shared_ptr<const Model>> LoadNow(Use use, const std::string& id,
                                                       const CallContext& call)
      REQUIRES(load_mutex_) EXCLUDES(mutex_);
  std::shared_ptr<const Model> Counted(std::shared_ptr<const Model> model,
                                       const LoadedModel& loaded, int64_t device_bytes) const;

  // Of a model, be it loaded or not.
  absl::StatusOr<int64_t> DeviceBytesOf(const std::string& id) const EXCLUDES(mutex_);
  int64_t DeviceBytesOf(Use use, const bundle::v1::ModelBundleManifest& manifest,
                        const std::string& precision) const;

  // That models are on; null: they are on the CPU.
  const std::shared_ptr<HeldDevice> device_;
  const ModelCacheOptions options_;
  device::LossWatch losses_;

  Mutex load_mutex_;  // held while a model is loaded
  mutable Mutex mutex_;
  std::map<std::string, Entry> entries_ GUARDED_BY(mutex_);
  // Those whose device has failed, and that somebody may hold yet.
  std::vector<Entry> failed_ GUARDED_BY(mutex_);
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_MODELS_MODEL_CACHE_H_
