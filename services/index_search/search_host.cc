#include "services/index_search/search_host.h"

#include <limits>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/error_details.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"
#include "common/bundle/generation.h"
#include "common/bundle/manifest.h"
#include "common/bundle/probe_file.h"
#include "common/bundle/shard_files.h"
#include "common/bundle/verify.h"
#include "common/index/index_kinds.h"
#include "common/index/recall_probes.h"
#include "common/index/shard_view.h"
#include "common/index/vector_index.h"
#include "common/log/log.h"

namespace sightline {
namespace {

// Of a shard: its vectors file, which lies in memory as a whole, and its index.
int64_t ShardFootprint(const IndexKind& kind, const bundle::v1::GenerationManifest& manifest,
                       int shard) {
  int64_t bytes = manifest.shards(shard).vectors().byte_count();
  if (__builtin_add_overflow(bytes, kind.footprint(manifest, shard), &bytes)) {
    return std::numeric_limits<int64_t>::max();
  }
  return bytes;
}

}  // namespace

SearchHost::SearchHost(const SearchHostOptions& options, ComputePool* pool, Janitor* janitor)
    : options_(options), pool_(pool), janitor_(janitor), alone_(1) {}

std::vector<int> SearchHost::ShardsOf(const Manifest& manifest) const {
  if (!options_.shards.empty()) return options_.shards;
  std::vector<int> all(manifest.shards_size());
  std::iota(all.begin(), all.end(), 0);
  return all;
}

std::string SearchHost::Directory(const Manifest& manifest) const {
  return GenerationDirectory(options_.store, manifest.index(), manifest.generation());
}

std::vector<std::string> SearchHost::Files(const Manifest& manifest) const {
  const std::string directory = Directory(manifest);
  std::vector<std::string> files;
  for (const int shard : ShardsOf(manifest)) {
    if (shard >= manifest.shards_size()) {
      files.push_back(JoinPath(directory, ShardFileName(shard, manifest.shards_size(), "vectors")));
      continue;
    }
    for (const ShardFile& file : FilesOf(manifest.shards(shard))) {
      if (!IsForSearch(file.kind)) continue;
      files.push_back(JoinPath(directory, file.description->path()));
    }
  }
  files.push_back(
      JoinPath(ModelDirectory(options_.store, manifest.encoder_model()), kManifestFile));
  return files;
}

absl::StatusOr<int64_t> SearchHost::Footprint(absl::Span<const Manifest* const> generations) const {
  int64_t bytes = 0;
  for (const Manifest* manifest : generations) {
    ASSIGN_OR_RETURN(const IndexKind* kind, IndexKindOf(*manifest));
    for (const int shard : ShardsOf(*manifest)) {
      if (shard >= manifest->shards_size()) continue;
      // Sums of lies stay lies, and do not wrap.
      if (__builtin_add_overflow(bytes, ShardFootprint(*kind, *manifest, shard), &bytes)) {
        return std::numeric_limits<int64_t>::max();
      }
    }
  }
  return bytes;
}

VerifyOptions SearchHost::WhatIsServed(const Manifest& manifest) const {
  VerifyOptions served;
  served.shards = ShardsOf(manifest);
  served.features = false;
  served.state_dir = options_.state_dir;
  return served;
}

absl::Status SearchHost::Check(const Manifest& manifest) {
  for (const int shard : ShardsOf(manifest)) {
    if (shard < manifest.shards_size()) continue;
    return MakeError(
        reasons::kNoSuchShard,
        absl::StrCat("the configuration wants shard ", shard, ", but the generation has ",
                     manifest.shards_size(), "; change `shards` or encode with as many"));
  }
  RETURN_IF_ERROR(IndexKindOf(manifest).status());
  // Vectors can be searched without the models at hand; the encoder insists on them.
  const absl::Status space = CheckEmbeddingSpace(options_.store, manifest);
  if (!absl::IsNotFound(space)) RETURN_IF_ERROR(space);
  return CheckLengths(options_.store, manifest, WhatIsServed(manifest));
}

absl::Status SearchHost::Verify(const Manifest& manifest, const CallContext& call) {
  if (!options_.verify) return absl::OkStatus();
  return VerifyGeneration(options_.store, manifest, WhatIsServed(manifest), call);
}

void SearchHost::Distrust(const Manifest& manifest) {
  ForgetStamps(options_.state_dir, Files(manifest));
}

absl::StatusOr<GenerationHost::Loaded> SearchHost::Load(const Manifest& manifest, bool verified,
                                                        const CallContext& call) {
  ComputePool::SingleThreadedLibraries();
  ASSIGN_OR_RETURN(const IndexKind* kind, IndexKindOf(manifest));
  auto held = std::make_shared<SearchGeneration>();
  const auto memory = std::make_shared<const char>();
  for (const int shard : ShardsOf(manifest)) {
    SearchableShard opened;
    opened.memory = memory;
    ASSIGN_OR_RETURN(opened.vectors,
                     LoadShard(options_.store, manifest, shard,
                               {options_.state_dir, options_.verify && !verified}, call));
    ASSIGN_OR_RETURN(opened.index, kind->open(Directory(manifest), manifest, shard,
                                              ViewOf(*opened.vectors), pool_, call));
    RETURN_IF_ERROR(CheckRecall(manifest, shard, *opened.index, call));
    held->shards[shard] = janitor_->Adopt<SearchableShard>(
        std::make_shared<const SearchableShard>(std::move(opened)));
  }
  return Loaded{std::move(held), memory};
}

absl::Status SearchHost::CheckRecall(const Manifest& manifest, int shard, const VectorIndex& index,
                                     const CallContext& call) {
  if (!manifest.has_recall_probe()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const Probes probes,
                   ReadProbes(JoinPath(Directory(manifest), manifest.shards(shard).probes().path()),
                              manifest, shard));
  ASSIGN_OR_RETURN(const double recall,
                   MeasureRecall(index, probes, RecallSearch(manifest, shard, &alone_), call));
  const double floor = manifest.recall_probe().floor();
  Log(Severity::kInfo, "recall measured",
      {{"index", manifest.index()},
       {"generation", manifest.generation()},
       {"shard", shard},
       {"recall", recall},
       {"floor", floor}});
  if (recall >= floor) return absl::OkStatus();
  return MakeError(
      reasons::kRecallTooLow,
      absl::StrCat("shard ", shard, " finds ", recall, " of the true neighbors of its ",
                   probes.queries.rows(), " probe queries; the manifest asks for ", floor,
                   ": build the index again, or with parameters that find more"));
}

}  // namespace sightline
