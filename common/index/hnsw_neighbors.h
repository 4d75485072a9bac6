// Which of the rows near a row it is linked to.
#ifndef SIGHTLINE_COMMON_INDEX_HNSW_NEIGHBORS_H_
#define SIGHTLINE_COMMON_INDEX_HNSW_NEIGHBORS_H_

#include <cstdint>
#include <vector>

#include "common/index/hnsw_beam.h"
#include "common/index/hnsw_graph.h"

namespace sightline {

// Rows of a coded graph compared with one of them: the Space (hnsw_walk.h) of a build.  Not
// thread-safe.
class RowSpace {
 public:
  explicit RowSpace(const HnswGraph& graph);

  // The row that others are compared with from now on.
  void SetRow(uint32_t row);

  // The same bits for both orders of two rows.
  float Similarity(uint32_t row) const {
    const char* const node = nodes_ + row * node_bytes_;
    const int32_t sum = product_(query_.data(), reinterpret_cast<const int8_t*>(node), code_bytes_);
    const auto* const code = reinterpret_cast<const kernels::Int8RowScale*>(node + code_bytes_);
    return scale_ * code->scale * static_cast<float>(sum);
  }
  void Prefetch(uint32_t row) const;

 private:
  const char* const nodes_;
  const int64_t node_bytes_, code_bytes_;
  int32_t (*const product_)(const int16_t*, const int8_t*, int64_t);
  std::vector<int16_t> query_;
  float scale_ = 0;
};

// Chooses by the heuristic of Malkov and Yashunin (algorithm 4): a row is set aside that is nearer
// to one chosen before it.  Not thread-safe.
class NeighborChoice {
 public:
  explicit NeighborChoice(const HnswGraph& graph) : space_(graph) {}

  // Of `near`, the best first and none twice nor the row itself, at most `most` for a row whose
  // similarity with itself is `own`; where they are fewer than `least`, the nearest of those set
  // aside, too.  Rows that equal it get at most half of the places, so that the first of thousands
  // of equal rows go on leading elsewhere.  `row_of` says which row a vertex is; null where they
  // are rows.
  void Choose(const std::vector<Reached>& near, float own, int most, int least,
              const uint32_t* row_of, std::vector<Reached>* chosen);

 private:
  RowSpace space_;
  std::vector<Reached> set_aside_;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_INDEX_HNSW_NEIGHBORS_H_
