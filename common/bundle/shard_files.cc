#include "common/bundle/shard_files.h"

#include <limits>

#include "absl/strings/str_cat.h"

namespace sightline {

std::vector<ShardFile> FilesOf(const bundle::v1::ShardManifest& shard) {
  std::vector<ShardFile> files = {{ShardFileKind::kVectors, "vectors", &shard.vectors()}};
  if (shard.has_features()) {
    files.push_back({ShardFileKind::kFeatures, "features", &shard.features()});
  }
  if (shard.has_probes()) files.push_back({ShardFileKind::kProbes, "probes", &shard.probes()});
  for (int i = 0; i < shard.index_files_size(); ++i) {
    files.push_back(
        {ShardFileKind::kIndex, absl::StrCat("index_files[", i, "]"), &shard.index_files(i)});
  }
  return files;
}

bool IsForSearch(ShardFileKind kind) {
  return kind != ShardFileKind::kFeatures;
}

int64_t ShardFileBytes(const bundle::v1::GenerationManifest& manifest) {
  int64_t bytes = 0;
  for (const bundle::v1::ShardManifest& shard : manifest.shards()) {
    for (const ShardFile& file : FilesOf(shard)) {
      // Sums of lies stay lies, and do not wrap.
      if (__builtin_add_overflow(bytes, file.description->byte_count(), &bytes)) {
        return std::numeric_limits<int64_t>::max();
      }
    }
  }
  return bytes;
}

}  // namespace sightline
