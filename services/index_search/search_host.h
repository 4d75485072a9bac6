// What index_search does with a generation: it loads the vectors of its shards, measures
// their recall and searches them.
#ifndef SIGHTLINE_SERVICES_INDEX_SEARCH_SEARCH_HOST_H_
#define SIGHTLINE_SERVICES_INDEX_SEARCH_SEARCH_HOST_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/compute_pool.h"
#include "common/bundle/verify.h"
#include "common/device/device_info.h"
#include "common/generations/generation_follower.h"
#include "common/generations/janitor.h"
#include "services/index_search/search_devices.h"
#include "services/index_search/searchable_shard.h"
#include "services/index_search/shard_footprint.h"

namespace sightline {

// Where the rows of indexes are that can leave them on the disk.
enum class RowsPlace {
  kAsBuilt,  // as the generation's index_spec says
  kMemory,
  kDisk,
};

struct SearchHostOptions {
  std::string store;
  std::string state_dir;    // of the stamps
  std::vector<int> shards;  // to hold, of every index; empty: all of them
  bool verify = true;
  RowsPlace rows = RowsPlace::kAsBuilt;
};

class SearchHost : public GenerationHost {
 public:
  // `pool` searches and `janitor` frees the shards, and indexes are on `devices` if that takes
  // them; all of these outlive whatever is loaded.
  SearchHost(const SearchHostOptions& options, ComputePool* pool, Janitor* janitor,
             SearchDevices* devices);

  std::vector<std::string> Files(const Manifest& manifest) const override;

  // Of each shard, as FootprintOf.
  absl::StatusOr<int64_t> Footprint(absl::Span<const Manifest* const> generations) const override;

  absl::StatusOr<std::vector<device::DeviceFootprint>> DeviceFootprints(
      absl::Span<const Manifest* const> generations) override;

  // FailedPrecondition: a shard that the generation has not (NO_SUCH_SHARD), a kind of index that
  // there is not (UNKNOWN_INDEX_KIND), that cannot leave rows on the disk (ROWS_NOT_ON_DISK) or
  // cannot be on a device where it must (NOT_ON_DEVICE), or a space that its encoder does not write
  // to.  DataLoss (MANIFEST_INVALID) for parameters that
  // the kind does not have.  Otherwise as CheckLengths.
  absl::Status Check(const Manifest& manifest) override;

  // As VerifyGeneration.
  absl::Status Verify(const Manifest& manifest, const CallContext& call) override;
  void Distrust(const Manifest& manifest) override;

  // A SearchGeneration.  FailedPrecondition (RECALL_TOO_LOW) if a shard's index finds fewer of the
  // true neighbors than the manifest asks for, with the effort of a search that asks for none;
  // otherwise as LoadShard.
  absl::StatusOr<Loaded> Load(const Manifest& manifest, bool verified,
                              const CallContext& call) override;

 private:
  std::vector<int> ShardsOf(const Manifest& manifest) const;
  std::string Directory(const Manifest& manifest) const;
  VerifyOptions WhatIsServed(const Manifest& manifest) const;
  ShardPlace PlaceOf(const IndexKind& kind, const Manifest& manifest) const;
  absl::Status CheckKind(const Manifest& manifest) const;
  // `before`: shards of the generation that are held and come before this one.
  absl::StatusOr<SearchableShard> Open(const Manifest& manifest, int shard, int before,
                                       bool content, const CallContext& call) const;
  absl::Status CheckRecall(const Manifest& manifest, int number, const SearchableShard& shard,
                           const CallContext& call);

  const SearchHostOptions options_;
  ComputePool* const pool_;
  Janitor* const janitor_;
  SearchDevices* const devices_;
  ComputePool alone_;  // of the loading thread: probes must not queue before requests
};

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_INDEX_SEARCH_SEARCH_HOST_H_
