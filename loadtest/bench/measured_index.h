// A stored generation's index, opened as a server does, and what its searches find and take.
#ifndef SIGHTLINE_LOADTEST_BENCH_MEASURED_INDEX_H_
#define SIGHTLINE_LOADTEST_BENCH_MEASURED_INDEX_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/base/call_context.h"
#include "common/base/compute_pool.h"
#include "common/bundle/probe_file.h"
#include "common/bundle/shard_vectors.h"
#include "common/index/vector_index.h"
#include "sightline/bundle/v1/generation.pb.h"

namespace sightline {

// What a search at one effort is worth.
struct Measured {
  int effort = 0;
  double recall_at_10 = 0;
  double recall_at_100 = 0;
  std::vector<double> seconds;  // of each search of the 10 best, all shards one after another
};

// Of the sorted `seconds`, 0 <= share <= 1.
double Percentile(std::vector<double> seconds, double share);

class MeasuredIndex {
 public:
  // Loads all shards of the generation, whose probes have 100 neighbors where its kind is not exact
  // (then recall among a hundred is of those that there are).  `on_disk`: rows stay on
  // disk.  `pool` computes, and outlives the index.
  static absl::StatusOr<std::unique_ptr<MeasuredIndex>> Open(const std::string& store,
                                                             const std::string& index,
                                                             const std::string& generation,
                                                             bool on_disk, ComputePool* pool);

  const bundle::v1::GenerationManifest& manifest() const { return manifest_; }
  std::string Name() const;  // "ivf rabitq float16, rows on disk"
  bool exact() const { return exact_; }
  bool on_disk() const { return on_disk_; }
  int64_t items() const { return manifest_.item_count(); }
  // Of rows in memory and index, without ids and records.
  double BytesAnItem() const;
  double resident_bytes() const { return resident_bytes_; }  // that loading has added
  double load_seconds() const { return load_seconds_; }

  // Recall at `effort` over all probes; seconds are none.
  absl::StatusOr<Measured> RecallAt(int effort) const;
  // The least effort, within a twentieth, whose recall among the ten best is `recall` at least;
  // NotFound if none has it.
  absl::StatusOr<Measured> EffortFor(double recall) const;
  // Searches with each probe once, alone, and adds what each took.
  absl::Status Time(Measured* measured) const;
  // Processor time of a search of the 10 best, in seconds: each probe's once, at moments that
  // follow one another as a Poisson process of `rate` a second, which `seed` draws.  What a
  // server's searches take, who waits between them and finds caches as others have left them.
  absl::StatusOr<double> ProcessorTimeAt(int effort, double rate, int64_t seed) const;
  // The same of searches among rows; `among` of shard 0 alone.
  const VectorIndex& shard(int number) const { return *shards_[number].index; }
  const VectorView& rows(int number) const { return shards_[number].view; }
  const EmbeddingMatrix& queries() const { return shards_.front().probes.queries; }

 private:
  struct Shard {
    std::unique_ptr<ShardVectors> vectors;
    VectorView view;
    std::unique_ptr<VectorIndex> index;
    Probes probes;
  };

  bundle::v1::GenerationManifest manifest_;
  bool exact_ = false;
  bool on_disk_ = false;
  double resident_bytes_ = 0;
  double load_seconds_ = 0;
  std::vector<Shard> shards_;
  std::vector<EmbeddingMatrix> alone_;  // each probe query
};

}  // namespace sightline

#endif  // SIGHTLINE_LOADTEST_BENCH_MEASURED_INDEX_H_
