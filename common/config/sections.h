// Sections that several servers' configurations share, so that the same thing has the
// same name everywhere.
//
//   store: /var/lib/sightline     # models/ and indexes/
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
//   batching: {max_batch_cost: 4096, max_batch_size: 256, max_queue_cost: 65536,
//              max_age: 200ms, workers: 1}
//   log: {level: info}
#ifndef SIGHTLINE_COMMON_CONFIG_SECTIONS_H_
#define SIGHTLINE_COMMON_CONFIG_SECTIONS_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/batching/task_queue.h"
#include "common/config/config.h"
#include "common/generations/generation_options.h"

namespace sightline {

// What a server reads from disk.
struct StoreConfig {
  std::string store;                 // required
  std::vector<std::string> indexes;  // required, at least one
  bool verify = true;
};
StoreConfig ReadStoreConfig(ConfigReader root);

// How the generations of `store` are followed: `state_dir`, `generations`, `loading` and
// `memory_limit`.
GenerationOptions ReadGenerationOptions(ConfigReader root, const StoreConfig& store);

struct ComputeConfig {
  // Threads that compute at once; default: the cores that the process may use.
  int threads = 1;
  bool deterministic = false;
};
ComputeConfig ReadComputeConfig(ConfigReader root);

// `compute.threads` alone, for servers without a model.
int ReadComputeThreads(ConfigReader root);

// Reads the section `name`; what it does not say is as in `defaults`.
BatchSchedulerOptions ReadBatchSchedulerOptions(ConfigReader root, absl::string_view name,
                                                const BatchSchedulerOptions& defaults);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_CONFIG_SECTIONS_H_
