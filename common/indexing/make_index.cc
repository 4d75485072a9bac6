#include "common/indexing/make_index.h"

#include <utility>

#include "absl/types/optional.h"
#include "common/base/status_macros.h"
#include "common/index/index_builder.h"
#include "common/index/index_choice.h"
#include "common/index/index_kinds.h"
#include "common/index/recall_probes.h"
#include "common/index/shard_rows.h"
#include "common/index/spec_defaults.h"
#include "common/indexing/index_report.h"

namespace sightline {

absl::Status MakeIndex(absl::string_view directory, const IndexWish& wish,
                       const QuerySource& queries, const MakeIndexOptions& options,
                       ComputePool* pool, const CallContext& call, Progress* progress,
                       bundle::v1::GenerationManifest* manifest) {
  ComputePool::SingleThreadedLibraries();
  IndexBuildOptions build;
  build.max_bytes = wish.max_bytes;
  absl::optional<IndexChoice> choice;
  manifest->clear_index_spec();
  if (wish.target.has_value()) {
    ASSIGN_OR_RETURN(const EmbeddingMatrix asked, queries(kApproximateProbeQueries));
    ChoiceOptions how;
    how.build = build;
    ASSIGN_OR_RETURN(choice, ChooseIndex(directory, *manifest, asked, *wish.target,
                                         TrialsFor(*wish.target, RowBytes(*manifest)), how, pool,
                                         call, progress));
    *manifest->mutable_index_spec() = choice->spec;
  } else if (!wish.spec.kind().empty()) {
    *manifest->mutable_index_spec() = wish.spec;
    FillIndexSpec(GreatestShard(*manifest), manifest->embedding().dimension(),
                  manifest->mutable_index_spec());
  }
  ASSIGN_OR_RETURN(const IndexKind* kind, IndexKindOf(*manifest));
  // Before probes are searched for, which takes a while.
  RETURN_IF_ERROR(PlanIndexBuild(*manifest, *kind, build, pool->threads()).status());
  ASSIGN_OR_RETURN(const ProbePlan probes, PlanProbes(*manifest, options.exact_floor));
  ASSIGN_OR_RETURN(const EmbeddingMatrix asked, queries(probes.query_count));
  RETURN_IF_ERROR(AddRecallProbes(directory, asked, probes.options, pool, call, manifest));
  RETURN_IF_ERROR(BuildIndexes(directory, *kind, build, pool, call, progress, manifest));
  if (!choice.has_value() && kind->build == nullptr) return absl::OkStatus();
  return WriteIndexReport(directory, *manifest, *kind, choice);
}

}  // namespace sightline
