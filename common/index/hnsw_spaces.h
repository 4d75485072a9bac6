// What rows of a graph are compared with a query by, on the way: see hnsw_walk.h.
//
// Every one of them has the same bits on every CPU: sums of codes are whole numbers, and sums of
// floats have an order of their own.
#ifndef SIGHTLINE_COMMON_INDEX_HNSW_SPACES_H_
#define SIGHTLINE_COMMON_INDEX_HNSW_SPACES_H_

#include <cstdint>

#include "common/index/hnsw_graph.h"
#include "common/index/row_scores.h"
#include "common/index/vector_index.h"
#include "common/kernels/cpu.h"
#include "common/kernels/int8_rows.h"

namespace sightline {

// Codes, with a query of int16; what is the same for all rows is left out.
class CodedSpace {
 public:
  // Both outlive it.
  CodedSpace(const HnswGraph& graph, const kernels::Int16Query& query)
      : nodes_(graph.nodes),
        node_bytes_(graph.shape.node_bytes()),
        code_bytes_(graph.shape.code_bytes()),
        query_(query.codes.data()),
        product_(kernels::Int8RowKernelFor(kernels::ThisCpu()).product) {}

  float Similarity(uint32_t row) const {
    const char* const node = nodes_ + row * node_bytes_;
    const int32_t sum = product_(query_, reinterpret_cast<const int8_t*>(node), code_bytes_);
    return reinterpret_cast<const kernels::Int8RowScale*>(node + code_bytes_)->scale *
           static_cast<float>(sum);
  }
  void Prefetch(uint32_t row) const {
    PrefetchStart(nodes_ + row * node_bytes_,
                  code_bytes_ + static_cast<int64_t>(sizeof(kernels::Int8RowScale)));
  }

 private:
  const char* const nodes_;
  const int64_t node_bytes_, code_bytes_;
  const int16_t* const query_;
  int32_t (*const product_)(const int16_t*, const int8_t*, int64_t);
};

// The sum of products of `n` numbers each, in 32 sums side by side where there are as many.
float Float32Similarity(const float* query, const float* row, int64_t n);

// Rows of float32 in memory.
class Float32Space {
 public:
  Float32Space(const VectorView& vectors, const float* query) : vectors_(vectors), query_(query) {}

  float Similarity(uint32_t row) const {
    return Float32Similarity(query_, vectors_.float_row(row), vectors_.dimension);
  }
  void Prefetch(uint32_t row) const {
    PrefetchStart(vectors_.row(row), vectors_.dimension * static_cast<int64_t>(sizeof(float)));
  }

 private:
  const VectorView& vectors_;
  const float* const query_;
};

// Rows of float16 in memory, by the scores that searches tell.
class Float16Space {
 public:
  Float16Space(const VectorView& vectors, const float* query) : vectors_(vectors), query_(query) {}

  float Similarity(uint32_t row) const { return RowScore(vectors_, query_, row); }
  void Prefetch(uint32_t row) const {
    PrefetchStart(vectors_.row(row), vectors_.dimension * static_cast<int64_t>(sizeof(uint16_t)));
  }

 private:
  const VectorView& vectors_;
  const float* const query_;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_INDEX_HNSW_SPACES_H_
