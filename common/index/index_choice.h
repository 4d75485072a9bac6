// Choosing the index of a generation by what it has to be worth: kinds are tried on a sample of
// its rows, and the fastest is kept of those that find enough in little enough memory.
#ifndef SIGHTLINE_COMMON_INDEX_INDEX_CHOICE_H_
#define SIGHTLINE_COMMON_INDEX_INDEX_CHOICE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/base/call_context.h"
#include "common/base/compute_pool.h"
#include "common/embedding/embedding_matrix.h"
#include "common/index/index_builder.h"
#include "common/index/index_kind.h"
#include "common/log/progress.h"
#include "sightline/bundle/v1/generation.pb.h"

namespace sightline {

struct IndexTarget {
  double recall = 0.95;        // among the ten best
  int64_t bytes_per_item = 0;  // in memory while it is served, at most; 0: any number
  bool rows_on_disk = false;   // only what leaves exact rows there
  int64_t seed = 1;            // of the sample, and of what is built
};

// A kind with parameters, to be tried.  Zeros in the spec are filled in (spec_defaults.h), and
// lists are counted for each root of the rows, so that a sample has as many as it should.
struct IndexTrial {
  const IndexKind* kind = nullptr;
  bundle::v1::IndexSpec spec;
  double list_factor = 0;  // of kind "ivf"
  double numbers_of_part =
      0;  // of kind "ivf": a part of codes for as many of a row's; 0: as filled
};

// What may meet `target`, of the kinds that there are, over rows that take `row_bytes` each: exact
// ones, IVF with each code, HNSW over rows and in int8.  Where memory is bounded, each also with
// its rows on the disk.
std::vector<IndexTrial> TrialsFor(const IndexTarget& target, int64_t row_bytes);

// What became of a trial.
struct TriedIndex {
  bundle::v1::IndexSpec spec;  // as it was built over the sample
  double bytes_per_item = 0;   // in memory, exact rows included where they lie there
  double build_seconds = 0;
  // As ShardManifest has them; of exact kinds one point, whose effort means nothing.
  std::vector<bundle::v1::EffortPoint> efforts;
  // What finds the recall that was asked for; 0 where nothing does, or it was not built.
  double seconds = 0;
  std::string verdict;  // "chosen", or why not: "takes 3072 bytes an item, of 200"
};

struct IndexChoice {
  IndexTarget target;
  bundle::v1::IndexSpec spec;  // of the winner, for the whole generation
  int64_t sample_rows = 0;     // of the greatest shard
  int64_t shard_rows = 0;      // that it has
  std::vector<TriedIndex> tried;
  int chosen = 0;  // of `tried`
};

struct ChoiceOptions {
  int64_t sample_rows = 100'000;  // at most
  IndexBuildOptions build;
};

// Tries `trials` on rows drawn from the greatest shard of `manifest`, whose vectors lie below
// `directory`, with `queries` and their true neighbors in the sample, and chooses.  Memory an item
// is that of the sample, which a larger shard falls below; time is measured on the sample alone,
// and orders the kinds for larger shards as far as they grow alike.  Which one is fastest depends
// on the machine and its moment; whoever wants the same index again gives the spec that was
// chosen.
//
// What was tried is kept below IndexWorkFolder(directory), and not tried again by a run that comes
// after one that was killed.  FailedPrecondition, with what comes nearest, if nothing meets the
// target; else as BuildIndexes.
absl::StatusOr<IndexChoice> ChooseIndex(absl::string_view directory,
                                        const bundle::v1::GenerationManifest& manifest,
                                        const EmbeddingMatrix& queries, const IndexTarget& target,
                                        const std::vector<IndexTrial>& trials,
                                        const ChoiceOptions& options, ComputePool* pool,
                                        const CallContext& call, Progress* progress);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_INDEX_INDEX_CHOICE_H_
