// Making the index of a generation whose shards are written: chosen if a target was asked for,
// probed, built, measured and reported.
//
//   RETURN_IF_ERROR(MakeIndex(directory, wish, queries, options, &pool, call, &progress,
//   &manifest)); RETURN_IF_ERROR(WriteGenerationManifest(store, manifest));
//   RETURN_IF_ERROR(RemoveIndexWork(directory));                    // index_builder.h
#ifndef SIGHTLINE_COMMON_INDEXING_MAKE_INDEX_H_
#define SIGHTLINE_COMMON_INDEXING_MAKE_INDEX_H_

#include <functional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/base/call_context.h"
#include "common/base/compute_pool.h"
#include "common/embedding/embedding_matrix.h"
#include "common/indexing/index_settings.h"
#include "common/log/progress.h"
#include "sightline/bundle/v1/generation.pb.h"

namespace sightline {

// At most `count` queries like those that the index will be asked; none if there are none.
using QuerySource = std::function<absl::StatusOr<EmbeddingMatrix>(int count)>;

struct MakeIndexOptions {
  double exact_floor = 0.99;  // of the recall of exact kinds
};

// Fills in index_spec, recall_probe, and of each shard probes, index_files and efforts.  What
// `wish` leaves open follows from the shards.  Where an index is chosen, or one is built, writes
// the report (index_report.h) below `directory`, the generation's folder.
//
// A run that was killed is gone on with by the next (index_builder.h, index_choice.h).  Errors as
// ChooseIndex, AddRecallProbes and BuildIndexes.  `progress` may be null.
absl::Status MakeIndex(absl::string_view directory, const IndexWish& wish,
                       const QuerySource& queries, const MakeIndexOptions& options,
                       ComputePool* pool, const CallContext& call, Progress* progress,
                       bundle::v1::GenerationManifest* manifest);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_INDEXING_MAKE_INDEX_H_
