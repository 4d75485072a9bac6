// The file of a graph: a container (common/bundle) with
//
//   header       int64[5]: version of this layout, rows, dimension, link_count, 1 if it is coded
//   nodes        bytes, a row each (hnsw_graph.h)
//   upper_rows   int32, of the vertices of level 1
//   upper_links  int32, of the vertices of level 1, then of level 2, and so on
//
// and of one whose build has not ended, which is not coded, beside them
//
//   build        bytes: a digest of all that the graph depends on
//   linked       int64[1]: rows that are linked, the first ones in their order
#ifndef SIGHTLINE_COMMON_INDEX_HNSW_FILE_H_
#define SIGHTLINE_COMMON_INDEX_HNSW_FILE_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/base/call_context.h"
#include "common/bundle/container.h"
#include "common/index/hnsw_graph.h"

namespace sightline {

// How far a build has come.
struct HnswStage {
  std::string build;
  int64_t linked = 0;
};

// Writes `graph`, with its codes or without them, and `stage` if it is not null.
absl::StatusOr<ContainerWriter::Summary> WriteHnswGraph(absl::string_view path,
                                                        const HnswGraph& graph, bool coded,
                                                        const HnswStage* stage);

// A graph that owns its memory.  Movable; views of it stay good.
struct LoadedHnswGraph {
  SectionBytes nodes, upper_rows, upper_links;
  HnswGraph graph;
};

// The graph of `shape` that lies there, all of it compared with its checksums, every link of a
// vertex that there is and every number that walks multiply by finite.  DataLoss
// (CHECKSUM_MISMATCH, CONTENT_INVALID) if it is none, or of another shape.
absl::StatusOr<LoadedHnswGraph> LoadHnswGraph(absl::string_view path, const HnswShape& shape,
                                              const CallContext& call);

// Where the links of a graph of `shape` go, coded or not: memory of whoever reads them.
struct HnswLinksTarget {
  HnswShape shape;
  char* nodes = nullptr;  // codes stay as they are
  uint32_t* upper_links = nullptr;
};

// Reads the links of a build that has not ended to `to`, a few MiB at a time, and checks them as
// LoadHnswGraph does; returns how many rows are linked.  NotFound if there is none of this digest;
// errors of LoadHnswGraph.  After an error `to` holds links that mean nothing.
absl::StatusOr<int64_t> ReadUnfinishedHnswGraph(absl::string_view path, absl::string_view build,
                                                const CallContext& call, const HnswLinksTarget& to);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_INDEX_HNSW_FILE_H_
