// How a server follows the generations of a store.
#ifndef SIGHTLINE_COMMON_GENERATIONS_GENERATION_OPTIONS_H_
#define SIGHTLINE_COMMON_GENERATIONS_GENERATION_OPTIONS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/generations/generation_source.h"

namespace sightline {

struct GenerationOptions {
  std::string store;  // a folder
  // Fills the folder; never null.
  std::shared_ptr<GenerationSource> source = std::make_shared<GenerationSource>();
  std::vector<std::string> indexes;
  std::string state_dir;  // of the refusals; empty: none are remembered
  absl::Duration poll_interval = absl::Seconds(1);
  // How long a CURRENT that is behind what was seen must stand unchanged before it is followed:
  // longer than any network file system shows an old file.
  absl::Duration restored_after = absl::Minutes(2);
  // How long after its last use, and after a newer one is ready, a generation is kept.
  absl::Duration release_after = absl::Seconds(10);
  // Bytes that the generations held may take together.
  int64_t memory_limit = INT64_MAX;
  // How fast files are read for loading, at most; > 0.
  int64_t max_bytes_per_second = INT64_MAX;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_GENERATIONS_GENERATION_OPTIONS_H_
