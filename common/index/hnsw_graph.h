// The form of a graph of kind "hnsw" (Malkov and Yashunin, 2018), in memory and in its file.
//
// Every row is a vertex of the lowest level, the base, and some are vertices of the levels above
// it, too.  Rows are put in an order that the seed draws (hnsw_order.h), and the first
// LevelCount(l) of them are those of level l: so a vertex of an upper level has the number of its
// place in that order on each level that it is on, the entry is number 0, and how much memory a
// graph takes follows from its shape alone.
//
// What belongs to a row of the base lies together, a node, from a multiple of 64 bytes on:
//
//   codes    Int8RowBytes(dimension) of them and an Int8RowScale, where the graph is coded
//   links    2 * link_count row numbers; behind the last one kNoLink
//
// so that looking at a row touches one place of the memory.  Links of upper levels lie level by
// level, link_count numbers a vertex.
#ifndef SIGHTLINE_COMMON_INDEX_HNSW_GRAPH_H_
#define SIGHTLINE_COMMON_INDEX_HNSW_GRAPH_H_

#include <algorithm>
#include <cstdint>

#include "absl/types/span.h"
#include "common/index/prefetch.h"
#include "common/kernels/int8_rows.h"

namespace sightline {

inline constexpr uint32_t kNoLink = UINT32_MAX;

// More rows than this have no numbers: the highest bit is a mark (hnsw_beam.h).
inline constexpr int64_t kMostHnswRows = int64_t{1} << 31;

// Asks for the first lines of the cache that `bytes` from `from` on lie in; those behind them come
// of themselves, when the first ones are read.
inline void PrefetchStart(const void* from, int64_t bytes) {
  constexpr int64_t kMostBytes = 512;
  PrefetchBytes(from, std::min(bytes, kMostBytes));
}

// A value.
struct HnswShape {
  int64_t rows = 0;
  int dimension = 0;
  int link_count = 0;  // of a vertex on an upper level
  bool coded = false;

  int base_links() const { return 2 * link_count; }
  int64_t code_bytes() const { return coded ? kernels::Int8RowBytes(dimension) : 0; }
  // Where links begin in a node.
  int64_t links_at() const {
    return code_bytes() + (coded ? static_cast<int64_t>(sizeof(kernels::Int8RowScale)) : 0);
  }
  int64_t node_bytes() const {
    constexpr int64_t kCacheLine = 64;
    const int64_t used = links_at() + base_links() * static_cast<int64_t>(sizeof(uint32_t));
    return (used + kCacheLine - 1) / kCacheLine * kCacheLine;
  }

  // Vertices of `level` >= 1; none from some level on.  At least one of level 1, if there are rows.
  int64_t LevelCount(int level) const {
    int64_t count = rows;
    for (int i = 0; i < level; ++i) count /= link_count;
    return level == 1 ? std::max(count, std::min<int64_t>(rows, 1)) : count;
  }
  // The highest level with a vertex; 0 without rows.
  int top_level() const {
    int level = 0;
    while (LevelCount(level + 1) > 0) ++level;
    return level;
  }
  // Vertices of all upper levels, one that is on several counted on each.
  int64_t upper_vertices() const {
    int64_t sum = 0;
    for (int level = top_level(); level >= 1; --level) sum += LevelCount(level);
    return sum;
  }
  // Of nodes, rows of upper vertices and their links.  `rows` are at most kMostHnswRows.
  int64_t byte_count() const {
    constexpr auto kNumber = static_cast<int64_t>(sizeof(uint32_t));
    return rows * node_bytes() + LevelCount(1) * kNumber + upper_vertices() * link_count * kNumber;
  }
};

// The links of one level.
struct LinkTable {
  const char* first = nullptr;
  int64_t stride = 0;  // bytes from vertex to vertex
  int capacity = 0;

  // Up to the first kNoLink, or all.
  const uint32_t* of(uint32_t vertex) const {
    return reinterpret_cast<const uint32_t*>(first + vertex * stride);
  }
  void Prefetch(uint32_t vertex) const {
    PrefetchStart(first + vertex * stride, capacity * static_cast<int64_t>(sizeof(uint32_t)));
  }
};

// A graph that somebody else keeps alive.
struct HnswGraph {
  HnswShape shape;
  const char* nodes = nullptr;
  const uint32_t* upper_rows = nullptr;   // of LevelCount(1) vertices
  const uint32_t* upper_links = nullptr;  // level 1 first

  const char* node(uint32_t row) const { return nodes + row * shape.node_bytes(); }
  const int8_t* codes(uint32_t row) const { return reinterpret_cast<const int8_t*>(node(row)); }
  const kernels::Int8RowScale& code(uint32_t row) const {
    return *reinterpret_cast<const kernels::Int8RowScale*>(node(row) + shape.code_bytes());
  }

  LinkTable base() const {
    return {nodes + shape.links_at(), shape.node_bytes(), shape.base_links()};
  }
  // Of `level` >= 1.
  LinkTable upper(int level) const {
    const uint32_t* first = upper_links;
    for (int below = 1; below < level; ++below) first += shape.LevelCount(below) * shape.link_count;
    return {reinterpret_cast<const char*>(first),
            shape.link_count * static_cast<int64_t>(sizeof(uint32_t)), shape.link_count};
  }
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_INDEX_HNSW_GRAPH_H_
