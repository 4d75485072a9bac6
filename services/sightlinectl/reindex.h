// A generation of the same items with another index.
#ifndef SIGHTLINE_SERVICES_SIGHTLINECTL_REINDEX_H_
#define SIGHTLINE_SERVICES_SIGHTLINECTL_REINDEX_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "common/base/call_context.h"
#include "common/base/compute_pool.h"
#include "common/base/dtype.h"
#include "common/indexing/index_settings.h"
#include "common/log/progress.h"
#include "sightline/bundle/v1/generation.pb.h"

namespace sightline {

struct ReindexOptions {
  std::string store;  // a folder
  std::string index;
  std::string base;        // the generation whose items they are; empty: what CURRENT names
  std::string generation;  // the new one; empty: named by what it is made of
  // Index of the same space whose items are what this one is asked with; empty: the queries of the
  // base's probes.
  std::string query_index;
  absl::optional<Dtype> vector_dtype;  // that embeddings are to be stored as; none: as in the base
  IndexWish wish;                      // not empty
};

struct Reindexed {
  bundle::v1::GenerationManifest manifest;
  bool already_there = false;  // nothing had to be made
};

// Makes the generation: its features, and its vectors unless they are to be other numbers, are
// those of the base, linked, or copied where the file system has no links; nothing is encoded.  It
// is not published.  Killed, it goes on where it was when it is run again.
//
// NotFound for a base that is not there; AlreadyExists if another generation has that name;
// FailedPrecondition if there are no queries, or those of another space; else as MakeIndex.
absl::StatusOr<Reindexed> Reindex(const ReindexOptions& options, ComputePool* pool,
                                  const CallContext& call, Progress* progress);

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_SIGHTLINECTL_REINDEX_H_
