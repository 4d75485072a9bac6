// Walks through a graph towards the vertices that are most similar to a query.
//
// What similar means is a Space's affair (hnsw_spaces.h):
//
//   float Similarity(uint32_t vertex) const;   // higher is better
//   void Prefetch(uint32_t vertex) const;      // what Similarity is going to read
#ifndef SIGHTLINE_COMMON_INDEX_HNSW_WALK_H_
#define SIGHTLINE_COMMON_INDEX_HNSW_WALK_H_

#include <algorithm>
#include <cstdint>

#include "absl/status/status.h"
#include "common/base/call_context.h"
#include "common/index/hnsw_beam.h"
#include "common/index/hnsw_graph.h"

namespace sightline {

// Of a row on the base, by what CheckHnsw lets through: an array on the stack holds them.
inline constexpr int kMostBaseLinks = 256;

// `space` of rows, asked by the number of an upper vertex.
template <typename Space>
class UpperSpace {
 public:
  UpperSpace(const Space& space, const uint32_t* rows) : space_(space), rows_(rows) {}

  float Similarity(uint32_t vertex) const { return space_.Similarity(rows_[vertex]); }
  void Prefetch(uint32_t vertex) const { space_.Prefetch(rows_[vertex]); }

 private:
  const Space& space_;
  const uint32_t* const rows_;
};

// Those links of `vertex` that were not seen yet, which then are; returns how many.
inline int UnseenLinks(const LinkTable& links, uint32_t vertex, SeenVertices* seen,
                       uint32_t* unseen) {
  const uint32_t* const all = links.of(vertex);
  int count = 0;
  for (int i = 0; i < links.capacity && all[i] != kNoLink; ++i) {
    unseen[count] = all[i];
    count += seen->Mark(all[i]) ? 1 : 0;
  }
  return count;
}

// Calls `take` with the similarity of each of `vertices`; those that come are on their way from
// memory while the ones before are multiplied.
template <typename Space, typename Take>
void CompareAll(const Space& space, const uint32_t* vertices, int count, Take take) {
  constexpr int kAhead = 8;
  for (int i = 0; i < std::min(count, kAhead); ++i) space.Prefetch(vertices[i]);
  for (int i = 0; i < count; ++i) {
    if (i + kAhead < count) space.Prefetch(vertices[i + kAhead]);
    take(Reached{space.Similarity(vertices[i]), vertices[i]});
  }
}

// From `start`, of which nothing was seen, to a neighbor as long as one is better.
template <typename Space>
Reached Climb(const LinkTable& links, const Space& space, Reached start, SeenVertices* seen) {
  uint32_t unseen[kMostBaseLinks];
  for (Reached best = start;; start = best) {
    const int count = UnseenLinks(links, start.vertex, seen, unseen);
    CompareAll(space, unseen, count, [&best](Reached one) {
      if (one.similarity > best.similarity) best = one;
    });
    if (best.vertex == start.vertex) return best;
  }
}

// What a walk may cost.
struct WalkLimit {
  int64_t similarities = INT64_MAX;
  const CallContext* call = nullptr;  // may be null: it goes on to its end
};

// Expands what `beam` holds, and what it takes in, until all of it is expanded.  False if it was
// given up because of its limit; then the call may be over.
template <typename Space, typename Beam>
bool Walk(const LinkTable& links, const Space& space, const WalkLimit& limit, SeenVertices* seen,
          Beam* beam) {
  constexpr int kExpansionsBetweenLooks = 128;
  uint32_t unseen[kMostBaseLinks];
  int64_t left = limit.similarities;
  uint32_t vertex = 0;
  for (int expansions = 1; beam->Expand(&vertex); ++expansions) {
    const int count = UnseenLinks(links, vertex, seen, unseen);
    left -= count;
    if (left < 0) return false;
    links.Prefetch(beam->ExpandedNext(vertex));
    CompareAll(space, unseen, count, [&](Reached one) {
      if (beam->Offer(one)) links.Prefetch(one.vertex);
    });
    if (limit.call != nullptr && expansions % kExpansionsBetweenLooks == 0 &&
        (limit.call->cancelled() || limit.call->expired())) {
      return false;
    }
  }
  return true;
}

// The row of the base where a search begins: down the levels above `level` >= 0, from the entry,
// each from the best of the one above.  A vertex of `level`, or the row of one where that is 0.
// The graph has rows.
template <typename Space>
uint32_t Descend(const HnswGraph& graph, const Space& space, int level, SeenVertices* seen) {
  const UpperSpace<Space> upper(space, graph.upper_rows);
  // A vertex that was no better on a level above is no better below.
  seen->Reset(graph.shape.LevelCount(1));
  seen->Mark(0);
  Reached best = {upper.Similarity(0), 0};
  for (int l = graph.shape.top_level(); l > level; --l) {
    best = Climb(graph.upper(l), upper, best, seen);
  }
  return level == 0 ? graph.upper_rows[best.vertex] : best.vertex;
}

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_INDEX_HNSW_WALK_H_
