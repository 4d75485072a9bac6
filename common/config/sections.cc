#include "common/config/sections.h"

#include <algorithm>
#include <limits>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/base/limits.h"
#include "common/base/usable_cores.h"
#include "common/base/usable_memory.h"
#include "common/bundle/layout.h"
#include "common/object_store/environment.h"
#include "common/object_store/mirror.h"
#include "common/object_store/s3_place.h"
#include "common/object_store/s3_store.h"

namespace sightline {
namespace {

// More than any machine has.
constexpr int kMostDevices = 64;

// What the file does not say the environment may, as where a container is given a device.
std::string DeviceKind(ConfigReader& section) {
  const std::vector<std::string> kinds = {"cpu", "cuda"};
  if (section.Has("kind")) return section.Choice("kind", kinds[0], kinds);
  const std::string otherwise = ProcessEnvironment()(kDeviceVariable).value_or(kinds[0]);
  if (std::find(kinds.begin(), kinds.end(), otherwise) == kinds.end()) {
    section.AddProblem("kind", absl::StrCat("$", kDeviceVariable, " is '", otherwise, "'; it is ",
                                            kinds[0], " or ", kinds[1]));
    return kinds[1];
  }
  return otherwise;
}

constexpr const char* kPrecisions[] = {"float32", "bfloat16", "int8"};

// All but where reports are kept.
PrecisionOptions ReadPrecision(ConfigReader root, const std::string& otherwise,
                               const std::vector<std::string>& choices) {
  ConfigReader section = root.Section("compute");
  PrecisionOptions options;
  options.policy.precision = section.Choice("precision", otherwise, choices);
  options.policy.least_agreement =
      section.Double("least_agreement", options.policy.least_agreement, 0, 1);
  options.reports = section.String("reports", "");
  return options;
}

}  // namespace

StoreConfig ReadStoreConfig(ConfigReader root) {
  StoreConfig config;
  config.store = root.RequiredString("store");
  config.indexes = root.StringList("indexes", /*min_count=*/1, /*max_count=*/limits::kMaxIndexes);
  for (auto name = config.indexes.begin(); name != config.indexes.end(); ++name) {
    if (!IsValidName(*name, limits::kMaxIndexNameLength)) {
      root.AddProblem("indexes", absl::StrCat("'", *name, "' is no index name; use [a-z0-9_-]"));
    } else if (std::find(config.indexes.begin(), name, *name) != name) {
      root.AddProblem("indexes", absl::StrCat("'", *name, "' is there twice"));
    }
  }
  config.verify = root.Bool("verify", true);
  return config;
}

ObjectStoreConfig ReadObjectStoreConfig(ConfigReader root) {
  ObjectStoreConfig config;
  const bool otherwise = ProcessEnvironment()(kObjectStoreVariable).has_value();
  if (!root.Has("object_store") && !otherwise) return config;
  ConfigReader section = root.Section("object_store");
  S3Options options;
  options.url = otherwise ? section.String("url", "") : section.RequiredString("url");
  options.endpoint = section.String("endpoint", "");
  options.region = section.String("region", "");
  config.fetch.connections =
      static_cast<int>(section.Int("connections", config.fetch.connections, 1, 64));
  options.upload.connections = config.fetch.connections;
  if (options.url.empty() && !otherwise) return config;
  absl::StatusOr<std::unique_ptr<ObjectStore>> store = OpenS3Store(std::move(options));
  if (store.ok()) {
    config.store = *std::move(store);
  } else {
    // It names the setting that is wrong, which may be one of the environment.
    root.AddProblem("object_store", store.status().message());
  }
  return config;
}

GenerationOptions ReadGenerationOptions(ConfigReader root, const StoreConfig& store) {
  GenerationOptions options;
  options.store = store.store;
  options.indexes = store.indexes;
  const ObjectStoreConfig origin = ReadObjectStoreConfig(root);
  MirrorOptions mirror;
  mirror.folder = store.store;
  mirror.fetch = origin.fetch;
  if (origin.store != nullptr) {
    mirror.max_bytes = root.Section("object_store")
                           .Bytes("max_cache_bytes", mirror.max_bytes, int64_t{1} << 20,
                                  std::numeric_limits<int64_t>::max());
    options.source = Mirror::Cache(origin.store, std::move(mirror));
  }
  options.state_dir = root.String("state_dir", "");
  ConfigReader section = root.Section("generations");
  options.poll_interval = section.Duration("poll_interval", options.poll_interval,
                                           absl::Milliseconds(10), absl::Minutes(10));
  options.restored_after = section.Duration("restored_after", options.restored_after,
                                            absl::Milliseconds(10), absl::Hours(24));
  options.release_after = section.Duration("release_after", options.release_after,
                                           absl::Milliseconds(10), absl::Hours(24));
  options.max_bytes_per_second =
      root.Section("loading").Bytes("max_bytes_per_second", options.max_bytes_per_second,
                                    int64_t{1} << 20, std::numeric_limits<int64_t>::max());
  options.memory_limit =
      root.Bytes("memory_limit", UsableMemory() / 5 * 4, 1, std::numeric_limits<int64_t>::max());
  return options;
}

std::vector<int> ReadNumbers(ConfigReader& section, absl::string_view name, int end,
                             absl::string_view what) {
  std::vector<int> numbers;
  for (const std::string& text : section.StringList(name)) {
    int number = 0;
    if (!absl::SimpleAtoi(text, &number) || number < 0 || number >= end) {
      section.AddProblem(name,
                         absl::StrCat("'", text, "' is no ", what, " number (0 to ", end - 1, ")"));
    } else if (std::count(numbers.begin(), numbers.end(), number) > 0) {
      section.AddProblem(name, absl::StrCat(number, " is named twice"));
    } else {
      numbers.push_back(number);
    }
  }
  return numbers;
}

DeviceConfig ReadDeviceConfig(ConfigReader root, int most) {
  ConfigReader section = root.Section("device");
  DeviceConfig config;
  const bool cuda = DeviceKind(section) == "cuda";
  config.numbers = ReadNumbers(section, "numbers", kMostDevices, "device");
  config.memory_limit = section.Bytes("memory_limit", 0, 1, std::numeric_limits<int64_t>::max());
  if (cuda) {
    if (config.numbers.empty()) config.numbers = {0};
    if (config.numbers.size() > static_cast<size_t>(most)) {
      section.AddProblem("numbers", absl::StrCat("a server of this kind computes on ", most,
                                                 " device; start one for each"));
    }
    return config;
  }
  for (const char* key : {"numbers", "memory_limit"}) {
    if (section.Has(key)) section.AddProblem(key, "is of devices, and `device.kind` is cpu");
  }
  return DeviceConfig();
}

ComputeConfig ReadComputeConfig(ConfigReader root) {
  ComputeConfig config;
  config.threads = ReadComputeThreads(root);
  config.deterministic = root.Section("compute").Bool("deterministic", false);
  return config;
}

PrecisionOptions ReadPrecisionOptions(ConfigReader root, const ComputeConfig& compute) {
  std::vector<std::string> choices = {std::string(kFastest)};
  choices.insert(choices.end(), std::begin(kPrecisions), std::end(kPrecisions));
  // Who asks for the same bits again asks for those of the reference.
  PrecisionOptions options = ReadPrecision(
      root, compute.deterministic ? PrecisionPolicy().precision : choices[0], choices);
  options.state_dir = root.String("state_dir", "");
  return options;
}

PrecisionOptions ReadJobPrecisionOptions(ConfigReader root) {
  return ReadPrecision(root, PrecisionPolicy().precision,
                       {std::begin(kPrecisions), std::end(kPrecisions)});
}

int ReadComputeThreads(ConfigReader root) {
  return static_cast<int>(
      root.Section("compute").Int("threads", UsableCores(), 1, limits::kMaxThreads));
}

BatchSchedulerOptions ReadBatchSchedulerOptions(ConfigReader root, absl::string_view name,
                                                const BatchSchedulerOptions& defaults) {
  ConfigReader section = root.Section(name);
  BatchSchedulerOptions options = defaults;
  options.max_batch_cost =
      section.Int("max_batch_cost", defaults.max_batch_cost, 1, int64_t{1} << 30);
  options.max_batch_size =
      static_cast<int>(section.Int("max_batch_size", defaults.max_batch_size, 1, 1 << 20));
  options.max_queue_cost =
      section.Int("max_queue_cost", defaults.max_queue_cost, 1, int64_t{1} << 40);
  options.max_age =
      section.Duration("max_age", defaults.max_age, absl::ZeroDuration(), absl::Hours(1));
  options.workers =
      static_cast<int>(section.Int("workers", defaults.workers, 1, limits::kMaxThreads));
  if (options.max_queue_cost < options.max_batch_cost) {
    section.AddProblem("max_queue_cost", "is below max_batch_cost; no full batch could wait");
  }
  return options;
}

}  // namespace sightline
