// The probes file of one shard: queries, and which of the shard's items lie closest to
// each of them in truth.
//
// A container (container.h) with these sections:
//
//   queries       fp32 [queries, dimension]
//   neighbors     int64 [queries * n], n = min(neighbor_count, items): for each query rows
//                 of the shard, best first
#ifndef SIGHTLINE_COMMON_BUNDLE_PROBE_FILE_H_
#define SIGHTLINE_COMMON_BUNDLE_PROBE_FILE_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/embedding/embedding_matrix.h"
#include "sightline/bundle/v1/generation.pb.h"

namespace sightline {

struct Probes {
  EmbeddingMatrix queries;
  std::vector<std::vector<int64_t>> neighbors;  // of each query
};

// Reads the file of shard `shard` of `manifest`, which has a recall_probe.  DataLoss if it
// is not what the manifest says, or names a row that the shard has not.
absl::StatusOr<Probes> ReadProbes(absl::string_view path,
                                  const bundle::v1::GenerationManifest& manifest, int shard);

// Writes `probes`, whose lists are equally long, to `directory`/`name` and returns what a
// manifest says of it.
absl::StatusOr<bundle::v1::BundleFile> WriteProbes(absl::string_view directory,
                                                   absl::string_view name, const Probes& probes);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_BUNDLE_PROBE_FILE_H_
