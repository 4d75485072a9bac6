// What a kind of index is to those who build, hold and search one.
//
// A kind is a file of this folder that defines its constant, and a line of index_kinds.cc:
//
//   extern const IndexKind kFlatIndexKind = {"flat", /*exact=*/true, ...};
#ifndef SIGHTLINE_COMMON_INDEX_INDEX_KIND_H_
#define SIGHTLINE_COMMON_INDEX_INDEX_KIND_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/base/call_context.h"
#include "common/base/compute_pool.h"
#include "common/index/device_form.h"
#include "common/index/vector_index.h"
#include "common/log/progress.h"
#include "sightline/bundle/v1/generation.pb.h"

namespace sightline {

// One shard whose index is to be built.  What it names outlives the build.
struct IndexBuild {
  std::string directory;                           // the generation's folder
  const bundle::v1::GenerationManifest* manifest;  // whose index_spec says what to build
  int shard = 0;
  VectorView vectors;  // of the shard, in memory or on a disk
  // Where stages that are done are kept, so that a build that was killed goes on: a folder of this
  // shard alone, which the caller makes, and removes when all is done.  What is found there of
  // another spec or other rows is not used.
  std::string work_directory;
  ComputePool* pool = nullptr;
  const CallContext* call = nullptr;
  // May be null.  In a phase of the caller's, which may be of other shards too: is told of each row
  // of this one, once.
  Progress* progress = nullptr;
};

// Its functions are called by any number of threads.
struct IndexKind {
  const char* name;  // that an IndexSpec has; lower-case

  // Whether it finds all there is, so that there is no effort to be chosen.
  bool exact;

  // Whether an index as `spec` has it can leave the rows on a disk, and reads them for scores only.
  bool (*rows_on_disk)(const bundle::v1::IndexSpec& spec);

  // Whether a shard is built by one thread, so that shards are built side by side.
  bool serial_build;

  // InvalidArgument, saying what to change, for parameters of `spec` that are none of this kind, or
  // do not fit rows of `dimension` numbers.
  absl::Status (*check)(const bundle::v1::IndexSpec& spec, int dimension);

  // Bytes that shard `shard` of `manifest` takes in memory while it is served, beside its rows and
  // records; INT64_MAX where a manifest's lies add up to more.
  int64_t (*footprint)(const bundle::v1::GenerationManifest& manifest, int shard);

  // The same of building it on `threads`, beside the rows.  Null: nothing is built.
  int64_t (*build_memory)(const bundle::v1::GenerationManifest& manifest, int shard, int threads);

  // Writes what is read beside the shard's vectors below `build.directory`, and returns what the
  // shard's index_files say of it.  Equal specs, rows and kinds of CPU give equal files, whatever
  // the threads, killed or not.  Replaces what a run that was killed has left.  CANCELLED or
  // DEADLINE_EXCEEDED if the call is over.  Null: there is nothing beside the vectors.
  absl::StatusOr<std::vector<bundle::v1::BundleFile>> (*build)(const IndexBuild& build);

  // The index of shard `shard` of `manifest`, whose index_spec may have parameters, over the
  // shard's vectors; they and `pool` outlive it, the other arguments need not.  Of index_files the
  // lengths were compared, and not always the content: DataLoss, with a reason (CHECKSUM_MISMATCH,
  // CONTENT_INVALID), if they are not what was built.  InvalidArgument for vectors on a disk where
  // rows_on_disk says no.
  absl::StatusOr<std::unique_ptr<VectorIndex>> (*open)(
      absl::string_view directory, const bundle::v1::GenerationManifest& manifest, int shard,
      const VectorView& vectors, ComputePool* pool, const CallContext& call);

  // Null: indexes of the kind are searched on a CPU alone.
  const DeviceForm* on_device;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_INDEX_INDEX_KIND_H_
