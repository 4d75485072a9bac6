// Builds the graph of a shard, row after row, in one thread.
//
// Rows are compared by their codes (common/kernels/int8_rows.h), whatever the graph is to be
// searched by, so that a build needs no rows in memory and reads them once.
//
// Similar is what has a great product, in the build as in searches (Morozov and Babenko, 2018).  Of
// rows of length one that is the order of distances.  Where lengths differ, long rows become what
// most links lead to, as they are what most searches find; the common way to equal lengths, one
// coordinate more for each row (Bachrach et al., 2014), was tried and finds less at every effort.
//
// A row with a number that is not finite, or whose squared length is not, is linked nowhere.
#ifndef SIGHTLINE_COMMON_INDEX_HNSW_BUILDER_H_
#define SIGHTLINE_COMMON_INDEX_HNSW_BUILDER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/base/call_context.h"
#include "common/base/resident_memory.h"
#include "common/index/hnsw_beam.h"
#include "common/index/hnsw_graph.h"
#include "common/index/hnsw_neighbors.h"
#include "common/index/vector_index.h"

namespace sightline {

struct HnswParameters {
  int link_count = 16;
  int build_effort = 100;  // candidates that are looked at where a row is linked
  uint64_t seed = 0;
};

// Not thread-safe.
class HnswBuilder {
 public:
  // Of `vectors`, at most kMostHnswRows, which it codes.  ResourceExhausted if there is no room;
  // as RowReader::Read, or the call's own status.
  static absl::StatusOr<std::unique_ptr<HnswBuilder>> Create(const VectorView& vectors,
                                                             const HnswParameters& parameters,
                                                             const CallContext& call);

  // Bytes that a build of `shape`, which is coded, takes.
  static int64_t Memory(const HnswShape& shape);

  // Rows that can be linked, and those that are; the order of rows says which.
  int64_t linkable() const { return linkable_; }
  int64_t linked() const { return linked_; }

  // Links the next `count` rows, or as many as are left.
  void Link(int64_t count);

  // Sees to it that a walk over the base from the entry reaches each row, when all are linked.
  // Returns how many it would not have reached.
  int64_t ConnectAll();

  // Graph and linked() as they are now; coded.
  const HnswGraph& graph() const { return graph_; }

  // A digest of all that the graph depends on.
  const std::string& digest() const { return digest_; }

  // Takes over what a builder of the same digest had linked and written to `path` (hnsw_file.h), in
  // place of what is linked here.  Errors as ReadUnfinishedHnswGraph; nothing is linked then.
  absl::Status Restore(absl::string_view path, const CallContext& call);

 private:
  // Of memory of zeros.
  HnswBuilder(const HnswShape& shape, const HnswParameters& parameters,
              std::unique_ptr<ResidentMemory> nodes, std::unique_ptr<ResidentMemory> upper_links);
  absl::Status Encode(const VectorView& vectors, const CallContext& call);
  void Order();
  void Unlink();

  void LinkNext();
  // Links `vertex` on a level, whose `space` looks from it; returns the best vertex that was near.
  template <typename Space>
  uint32_t LinkOnLevel(const LinkTable& links, const Space& space, const uint32_t* row_of,
                       uint32_t vertex, uint32_t start);
  void AddLink(const LinkTable& links, const uint32_t* row_of, uint32_t from, Reached to);

  // Of ConnectAll: marks what can be reached from a row, it too; names a row near `row` that can be
  // reached; has `row` reached from it, and all others as before.
  void MarkReached(uint32_t from);
  uint32_t ReachedNear(uint32_t row);
  void LinkUnreached(uint32_t from, uint32_t row);

  const HnswParameters parameters_;
  const std::unique_ptr<ResidentMemory> nodes_, upper_links_;
  std::vector<uint32_t> order_;
  HnswGraph graph_;
  std::string digest_;
  int64_t linkable_ = 0;
  int64_t linked_ = 0;

  RowSpace space_;       // looks from the row that is linked
  RowSpace from_space_;  // looks from a row that it is linked to
  NeighborChoice choice_;
  SeenVertices seen_, reached_;
  SortedBeam beam_;
  std::vector<Reached> near_, chosen_;            // of the row that is linked
  std::vector<Reached> from_near_, from_chosen_;  // of one that it is linked to
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_INDEX_HNSW_BUILDER_H_
