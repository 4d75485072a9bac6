// The files of a shard, as a manifest names them: one list for whoever checks, reads, counts
// or fetches them all, so that another file of a shard is a line of shard_files.cc.
#ifndef SIGHTLINE_COMMON_BUNDLE_SHARD_FILES_H_
#define SIGHTLINE_COMMON_BUNDLE_SHARD_FILES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "sightline/bundle/v1/generation.pb.h"

namespace sightline {

enum class ShardFileKind { kVectors, kFeatures, kProbes, kIndex };

struct ShardFile {
  ShardFileKind kind = ShardFileKind::kVectors;
  std::string field;                                    // of ShardManifest: "index_files[0]"
  const bundle::v1::BundleFile* description = nullptr;  // a part of the manifest
};

// Every file that `shard` names, the vectors first, which every shard has: where the manifest
// describes none, an empty description stands for them.  `shard` outlives the list.
std::vector<ShardFile> FilesOf(const bundle::v1::ShardManifest& shard);

// Whether searching takes it, and so index_search reads it.  Features are for reranking.
bool IsForSearch(ShardFileKind kind);

// Bytes of the files of all shards, as the manifest has them; INT64_MAX if they are more.
int64_t ShardFileBytes(const bundle::v1::GenerationManifest& manifest);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_BUNDLE_SHARD_FILES_H_
