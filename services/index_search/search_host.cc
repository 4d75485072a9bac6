#include "services/index_search/search_host.h"

#include <map>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/error_details.h"
#include "common/base/files.h"
#include "common/base/process_memory.h"
#include "common/base/status_macros.h"
#include "common/bundle/generation.h"
#include "common/bundle/manifest.h"
#include "common/bundle/probe_file.h"
#include "common/bundle/shard_files.h"
#include "common/bundle/tag_postings.h"
#include "common/bundle/verify.h"
#include "common/index/effort_curve.h"
#include "common/index/index_kinds.h"
#include "common/index/recall_probes.h"
#include "common/index/shard_view.h"
#include "common/index/vector_index.h"
#include "common/log/log.h"

namespace sightline {
namespace {

// What was said of a shard's memory, and what became of it.  `before` is what the process had.
void LogMemory(const bundle::v1::GenerationManifest& manifest, int number,
               const ShardFootprint& told, const ShardFootprint& taken, int64_t before) {
  Log(Severity::kInfo, "shard loaded",
      {{"index", manifest.index()},
       {"generation", manifest.generation()},
       {"shard", number},
       {"told_bytes", told.total()},
       {"taken_bytes", taken.total()},
       {"row_bytes", taken.rows},
       {"record_bytes", taken.records},
       {"posting_bytes", taken.postings},
       {"index_bytes", taken.index},
       {"device_bytes", taken.device},
       {"process_bytes_before", before},
       {"process_bytes", ResidentBytes()}});
}

// That have a form on devices.
std::string KindsOnDevices() {
  std::vector<std::string> names;
  for (const IndexKind* kind : IndexKinds()) {
    if (kind->on_device != nullptr) names.push_back(absl::StrCat("'", kind->name, "'"));
  }
  return absl::StrJoin(names, ", ");
}

}  // namespace

SearchHost::SearchHost(const SearchHostOptions& options, ComputePool* pool, Janitor* janitor,
                       SearchDevices* devices)
    : options_(options), pool_(pool), janitor_(janitor), devices_(devices), alone_(1) {}

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
      const ShardFootprint told =
          FootprintOf(*kind, Directory(*manifest), *manifest, shard, PlaceOf(*kind, *manifest));
      bytes = AddBytes(bytes, told.total());
    }
  }
  return bytes;
}

absl::StatusOr<std::vector<device::DeviceFootprint>> SearchHost::DeviceFootprints(
    absl::Span<const Manifest* const> generations) {
  std::map<int, int64_t> taken;  // by device
  for (const Manifest* manifest : generations) {
    ASSIGN_OR_RETURN(const IndexKind* kind, IndexKindOf(*manifest));
    const ShardPlace place = PlaceOf(*kind, *manifest);
    if (!place.on_device) continue;
    int before = 0;
    for (const int shard : ShardsOf(*manifest)) {
      if (shard >= manifest->shards_size()) continue;
      int64_t& bytes = taken[devices_->NumberOf(before++)];
      bytes =
          AddBytes(bytes, FootprintOf(*kind, Directory(*manifest), *manifest, shard, place).device);
    }
  }
  std::vector<device::DeviceFootprint> footprints;
  for (const auto& [device, bytes] : taken) {
    ASSIGN_OR_RETURN(const int64_t limit, devices_->Limit(device));
    footprints.push_back({device, bytes, limit});
  }
  return footprints;
}

VerifyOptions SearchHost::WhatIsServed(const Manifest& manifest) const {
  VerifyOptions served;
  served.shards = ShardsOf(manifest);
  served.features = false;
  served.state_dir = options_.state_dir;
  return served;
}

ShardPlace SearchHost::PlaceOf(const IndexKind& kind, const Manifest& manifest) const {
  const bool disk = options_.rows == RowsPlace::kAsBuilt ? manifest.index_spec().rows_on_disk()
                                                         : options_.rows == RowsPlace::kDisk;
  return {disk ? EmbeddingPlace::kDisk : EmbeddingPlace::kMemory, devices_->Take(kind)};
}

absl::Status SearchHost::CheckKind(const Manifest& manifest) const {
  ASSIGN_OR_RETURN(const IndexKind* kind, IndexKindOf(manifest));
  const absl::Status checked = kind->check(manifest.index_spec(), manifest.embedding().dimension());
  if (!checked.ok()) {
    return MakeError(reasons::kManifestInvalid, absl::StrCat("manifest: ", checked.message()));
  }
  const ShardPlace place = PlaceOf(*kind, manifest);
  if (devices_->required() && !place.on_device) {
    return MakeError(
        reasons::kNotOnDevice,
        absl::StrCat("the configuration requires a device, and an index of kind '", kind->name,
                     "' is searched on a CPU alone; set `device.required: false`, or build one of ",
                     KindsOnDevices()));
  }
  const bool reads_rows = !place.on_device && !kind->rows_on_disk(manifest.index_spec());
  if (place.rows == EmbeddingPlace::kMemory || !reads_rows) return absl::OkStatus();
  return MakeError(
      reasons::kRowsNotOnDisk,
      absl::StrCat(
          options_.rows == RowsPlace::kDisk ? "the configuration" : "the manifest",
          " wants rows on the disk, and an index of kind '", kind->name,
          "' without codes compares the rows themselves at each search; set `rows: memory`, or "
          "build another index"));
}

absl::Status SearchHost::Check(const Manifest& manifest) {
  for (const int shard : ShardsOf(manifest)) {
    if (shard < manifest.shards_size()) continue;
    return MakeError(
        reasons::kNoSuchShard,
        absl::StrCat("the configuration wants shard ", shard, ", but the generation has ",
                     manifest.shards_size(), "; change `shards` or encode with as many"));
  }
  RETURN_IF_ERROR(CheckKind(manifest));
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

absl::StatusOr<SearchableShard> SearchHost::Open(const Manifest& manifest, int shard, int before,
                                                 bool content, const CallContext& call) const {
  ASSIGN_OR_RETURN(const IndexKind* kind, IndexKindOf(manifest));
  const ShardPlace place = PlaceOf(*kind, manifest);
  const int64_t bytes_before = ResidentBytes();
  SearchableShard opened;
  ASSIGN_OR_RETURN(opened.vectors, LoadShard(options_.store, manifest, shard,
                                             {options_.state_dir, content, place.rows}, call));
  absl::StatusOr<TagPostings> tags = TagPostings::Build(*opened.vectors, call);
  if (absl::IsDataLoss(tags.status())) return WithReason(tags.status(), reasons::kContentInvalid);
  RETURN_IF_ERROR(tags.status());
  opened.tags = *std::move(tags);
  const VectorView view = ViewOf(*opened.vectors);
  if (place.on_device) {
    const int device = devices_->NumberOf(before);
    ASSIGN_OR_RETURN(
        SearchDevices::Opened there,
        devices_->Open(*kind, Directory(manifest), manifest, shard, view, device, pool_, call));
    opened.device = device;
    opened.device_bytes = there.device_bytes;
    opened.device_memory = std::move(there.memory);
    opened.index = std::move(there.index);
  } else {
    ASSIGN_OR_RETURN(opened.index,
                     kind->open(Directory(manifest), manifest, shard, view, pool_, call));
  }
  opened.efforts = EffortCurve(manifest.shards(shard));
  opened.default_recall = DefaultRecallOf(manifest);
  LogMemory(manifest, shard, FootprintOf(*kind, Directory(manifest), manifest, shard, place),
            TakenBy(opened), bytes_before);
  return opened;
}

absl::StatusOr<GenerationHost::Loaded> SearchHost::Load(const Manifest& manifest, bool verified,
                                                        const CallContext& call) {
  ComputePool::SingleThreadedLibraries();
  auto held = std::make_shared<SearchGeneration>();
  const auto memory = std::make_shared<const char>();
  int before = 0;
  for (const int shard : ShardsOf(manifest)) {
    ASSIGN_OR_RETURN(SearchableShard opened,
                     Open(manifest, shard, before++, options_.verify && !verified, call));
    opened.memory = memory;
    RETURN_IF_ERROR(CheckRecall(manifest, shard, opened, call));
    held->shards[shard] = janitor_->Adopt<SearchableShard>(
        std::make_shared<const SearchableShard>(std::move(opened)));
  }
  return Loaded{std::move(held), memory};
}

absl::Status SearchHost::CheckRecall(const Manifest& manifest, int number,
                                     const SearchableShard& shard, const CallContext& call) {
  if (!manifest.has_recall_probe()) return absl::OkStatus();
  ASSIGN_OR_RETURN(
      const Probes probes,
      ReadProbes(JoinPath(Directory(manifest), manifest.shards(number).probes().path()), manifest,
                 number));
  const SearchOptions options = RecallSearch(manifest, number, &alone_);
  ASSIGN_OR_RETURN(const double recall, MeasureRecall(*shard.index, probes, options, call));
  const double floor = manifest.recall_probe().floor();
  Log(Severity::kInfo, "recall measured",
      {{"index", manifest.index()},
       {"generation", manifest.generation()},
       {"shard", number},
       {"recall", recall},
       {"floor", floor},
       {"effort", options.effort}});
  if (recall >= floor) return absl::OkStatus();
  return MakeError(
      reasons::kRecallTooLow,
      absl::StrCat("shard ", number, " finds ", recall, " of the true neighbors of its ",
                   probes.queries.rows(), " probe queries; the manifest asks for ", floor,
                   ": build the index again, or with parameters that find more"));
}

}  // namespace sightline
