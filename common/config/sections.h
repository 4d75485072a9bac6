// Sections that several servers' configurations share, so that the same thing has the
// same name everywhere.
//
//   store: /var/lib/sightline     # models/ and indexes/
//   object_store:                 # if there is one, `store` holds copies of what is in it
//     url: s3://bucket/folder     # default: $SIGHTLINE_OBJECT_STORE
//     endpoint: https://minio:9000   # of a store that is not AWS's
//     region: eu-central-1
//     max_cache_bytes: 100GiB     # that the copies of a server may take; default: 90 % of the
//                                 # file system that `store` is on
//     connections: 4              # that fetch or send a file
//   indexes: [images, captions]   # whose CURRENT generation is served
//   state_dir: /var/cache/sightline   # remembers what was verified and what was refused;
//                                     # "" remembers nothing
//   verify: true                  # checksums before serving
//   generations: {poll_interval: 1s, restored_after: 2m, release_after: 10s}
//   loading: {max_bytes_per_second: 100MiB}   # that are read for loading; default: no bound
//   memory_limit: 8GiB            # of all generations held; default: 80 % of what there is
//   compute:
//     threads: 2                  # core budget
//     deterministic: false        # one item or pair per forward pass
//     precision: fastest          # that agrees, or float32, bfloat16, int8
//     least_agreement: 0.98       # with float32, of the ten best
//     reports: /etc/sightline/precision   # that came with the deployment; default: none
//   device:                       # of servers that can compute on GPUs
//     kind: cpu                   # or cuda; default: $SIGHTLINE_DEVICE, else cpu
//     numbers: [0]                # of the machine's devices; encoders and rerankers use one
//     memory_limit: 70GiB         # of each; default: nine tenths of what it has
//   batching: {max_batch_cost: 4096, max_batch_size: 256, max_queue_cost: 65536,
//              max_age: 200ms, workers: 1}
//   log: {level: info}
#ifndef SIGHTLINE_COMMON_CONFIG_SECTIONS_H_
#define SIGHTLINE_COMMON_CONFIG_SECTIONS_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/batching/task_queue.h"
#include "common/config/config.h"
#include "common/generations/generation_options.h"
#include "common/models/precision/policy.h"
#include "common/object_store/fetch.h"
#include "common/object_store/object_store.h"

namespace sightline {

// What a server reads from disk.
struct StoreConfig {
  std::string store;                 // required
  std::vector<std::string> indexes;  // required, at least one
  bool verify = true;
};
StoreConfig ReadStoreConfig(ConfigReader root);

// The section `object_store`; without one, the URL of $SIGHTLINE_OBJECT_STORE.  Nothing is sent
// yet.
struct ObjectStoreConfig {
  std::shared_ptr<ObjectStore> store;  // null if there is no such section, or it is wrong
  FetchOptions fetch;
};
ObjectStoreConfig ReadObjectStoreConfig(ConfigReader root);

// How the generations of `store` are followed, and where it is filled from: `object_store`,
// `state_dir`, `generations`, `loading` and
// `memory_limit`.
GenerationOptions ReadGenerationOptions(ConfigReader root, const StoreConfig& store);

struct ComputeConfig {
  // Threads that compute at once; default: the cores that the process may use.
  int threads = 1;
  bool deterministic = false;
};
ComputeConfig ReadComputeConfig(ConfigReader root);

// How servers choose a model's precision: `compute.precision`, `least_agreement` and `reports`,
// and `state_dir`.  Where `deterministic` is set and no precision is named, float32.
PrecisionOptions ReadPrecisionOptions(ConfigReader root, const ComputeConfig& compute);

// How a job does: in one that is named, which is float32 unless `compute.precision` says another,
// so that all workers have the same.  `state_dir` stays empty.
PrecisionOptions ReadJobPrecisionOptions(ConfigReader root);

// The section `device`, but for what one server alone has in it.  What names no device is as by
// default: none.
inline constexpr char kDeviceVariable[] = "SIGHTLINE_DEVICE";
struct DeviceConfig {
  std::vector<int> numbers;  // of devices that are used; none: the CPU
  int64_t memory_limit = 0;  // of each; 0: what is usual
};
// Of CUDA's devices; `most`: how many there may be.
DeviceConfig ReadDeviceConfig(ConfigReader root, int most);

// Distinct numbers from 0 to below `end`, of what `name` lists; others are problems.
std::vector<int> ReadNumbers(ConfigReader& section, absl::string_view name, int end,
                             absl::string_view what);

// `compute.threads` alone, for servers without a model.
int ReadComputeThreads(ConfigReader root);

// Reads the section `name`; what it does not say is as in `defaults`.
BatchSchedulerOptions ReadBatchSchedulerOptions(ConfigReader root, absl::string_view name,
                                                const BatchSchedulerOptions& defaults);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_CONFIG_SECTIONS_H_
