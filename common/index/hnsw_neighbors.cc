#include "common/index/hnsw_neighbors.h"

#include <algorithm>

#include "common/index/hnsw_spaces.h"
#include "common/kernels/cpu.h"

namespace sightline {

RowSpace::RowSpace(const HnswGraph& graph)
    : nodes_(graph.nodes),
      node_bytes_(graph.shape.node_bytes()),
      code_bytes_(graph.shape.code_bytes()),
      product_(kernels::Int8RowKernelFor(kernels::ThisCpu()).product),
      query_(static_cast<size_t>(code_bytes_)) {}

void RowSpace::SetRow(uint32_t row) {
  const char* const node = nodes_ + row * node_bytes_;
  std::copy_n(reinterpret_cast<const int8_t*>(node), code_bytes_, query_.begin());
  scale_ = reinterpret_cast<const kernels::Int8RowScale*>(node + code_bytes_)->scale;
}

void RowSpace::Prefetch(uint32_t row) const {
  PrefetchStart(nodes_ + row * node_bytes_,
                code_bytes_ + static_cast<int64_t>(sizeof(kernels::Int8RowScale)));
}

void NeighborChoice::Choose(const std::vector<Reached>& near, float own, int most, int least,
                            const uint32_t* row_of, std::vector<Reached>* chosen) {
  chosen->clear();
  set_aside_.clear();
  const auto row = [row_of](const Reached& at) {
    return row_of == nullptr ? at.vertex : row_of[at.vertex];
  };
  int equals_left = most / 2;
  for (const Reached& candidate : near) {
    if (static_cast<int>(chosen->size()) == most) return;
    space_.SetRow(row(candidate));
    const bool equal = candidate.similarity == own && space_.Similarity(row(candidate)) == own;
    if (equal && equals_left-- <= 0) continue;
    const bool is_apart = std::none_of(chosen->begin(), chosen->end(), [&](const Reached& before) {
      return space_.Similarity(row(before)) > candidate.similarity;
    });
    (is_apart ? *chosen : set_aside_).push_back(candidate);
  }
  for (const Reached& candidate : set_aside_) {
    if (static_cast<int>(chosen->size()) >= least) return;
    chosen->push_back(candidate);
  }
}

}  // namespace sightline
