// What kind "hnsw" is before a search: its parameters, its memory, and the build of its file.
#ifndef SIGHTLINE_COMMON_INDEX_HNSW_BUILD_H_
#define SIGHTLINE_COMMON_INDEX_HNSW_BUILD_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/index/index_kind.h"
#include "sightline/bundle/v1/generation.pb.h"

namespace sightline {

// As IndexKind says.
absl::Status CheckHnsw(const bundle::v1::IndexSpec& spec, int dimension);
int64_t HnswFootprint(const bundle::v1::GenerationManifest& manifest, int shard);
int64_t HnswBuildMemory(const bundle::v1::GenerationManifest& manifest, int shard, int threads);
absl::StatusOr<std::vector<bundle::v1::BundleFile>> BuildHnsw(const IndexBuild& build);

// The same, where the graph so far is kept after each `rows_between_stages` rows.
absl::StatusOr<std::vector<bundle::v1::BundleFile>> BuildHnswInStages(const IndexBuild& build,
                                                                      int64_t rows_between_stages);

// InvalidArgument, with what to do.
absl::Status TooManyHnswRows(int64_t rows);

// Where the graph of a shard lies.  DataLoss (CONTENT_INVALID) if the shard has not the one file
// that it should.
absl::StatusOr<std::string> HnswPath(absl::string_view directory,
                                     const bundle::v1::GenerationManifest& manifest, int shard);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_INDEX_HNSW_BUILD_H_
