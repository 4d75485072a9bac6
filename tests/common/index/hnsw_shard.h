// One shard of kind "hnsw", from rows to an index: what its tests search in.
#ifndef SIGHTLINE_TESTS_COMMON_INDEX_HNSW_SHARD_H_
#define SIGHTLINE_TESTS_COMMON_INDEX_HNSW_SHARD_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/base/call_context.h"
#include "common/base/compute_pool.h"
#include "common/base/files.h"
#include "common/base/float16.h"
#include "common/embedding/embedding_matrix.h"
#include "common/embedding/row_reader.h"
#include "common/index/hnsw_build.h"
#include "common/index/index_kind.h"
#include "common/index/index_kinds.h"
#include "common/index/row_scores.h"
#include "common/index/vector_index.h"
#include "tests/support/temp_dir.h"

namespace sightline {

// Rows as a shard has them, in memory.
class StoredRows : public RowReader {
 public:
  StoredRows(EmbeddingMatrix rows, Dtype dtype) : rows_(std::move(rows)), dtype_(dtype) {
    if (dtype_ != Dtype::kFloat16) return;
    halves_.resize(rows_.values().size());
    Float32ToFloat16(rows_.data(), halves_.size(), reinterpret_cast<char*>(halves_.data()));
  }

  VectorView view() const {
    const void* const data =
        dtype_ == Dtype::kFloat16 ? static_cast<const void*>(halves_.data()) : rows_.data();
    return {data, rows_.rows(), rows_.dimension(), rows_.dimension(), dtype_};
  }
  // The same behind a reader.
  VectorView view_on_disk() const {
    VectorView view = this->view();
    view.data = nullptr;
    view.reader = this;
    return view;
  }

  absl::Status Read(absl::Span<const int64_t> rows, char* to) const override {
    const size_t bytes = rows_.dimension() * DtypeSize(dtype_);
    for (const int64_t row : rows) to = std::copy_n(view().row(row), bytes, to);
    return absl::OkStatus();
  }

 private:
  const EmbeddingMatrix rows_;
  const Dtype dtype_;
  std::vector<uint16_t> halves_;
};

// Points of length one around `clusters` centers.
inline EmbeddingMatrix ClusteredRows(int64_t rows, int dimension, int clusters, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  EmbeddingMatrix centers(clusters, dimension);
  std::mt19937 of_centers(7);
  for (int64_t i = 0; i < int64_t{clusters} * dimension; ++i) {
    centers.mutable_data()[i] = normal(of_centers);
  }
  EmbeddingMatrix matrix(rows, dimension);
  for (int64_t row = 0; row < rows; ++row) {
    const auto center = centers.row(static_cast<int64_t>(random() % clusters));
    for (int i = 0; i < dimension; ++i) {
      matrix.mutable_row(row)[i] = center[i] + 0.7f * normal(random);
    }
  }
  NormalizeRows(matrix);
  return matrix;
}

// A build and what came of it.
class HnswShard {
 public:
  HnswShard(const StoredRows& stored, const std::string& code, int link_count = 8)
      : HnswShard(stored.view(), code, link_count) {}
  HnswShard(const VectorView& vectors, const std::string& code, int link_count = 8)
      : vectors(vectors) {
    bundle::v1::IndexSpec* const spec = manifest.mutable_index_spec();
    spec->set_kind("hnsw");
    spec->set_seed(5);
    spec->mutable_hnsw()->set_link_count(link_count);
    spec->mutable_hnsw()->set_build_effort(60);
    spec->mutable_hnsw()->set_code(code);
    spec->mutable_hnsw()->set_refine(4);
    manifest.mutable_embedding()->set_dimension(vectors.dimension);
    manifest.add_shards()->set_item_count(vectors.rows);
  }

  const IndexKind& kind() const { return **IndexKindOf(manifest); }

  IndexBuild build() {
    IndexBuild build;
    build.directory = dir.File("generation");
    build.manifest = &manifest;
    build.vectors = vectors;
    build.work_directory = dir.File("work");
    build.pool = &pool;
    build.call = &call;
    if (!MakeDirectories(build.work_directory).ok()) std::abort();
    return build;
  }

  absl::Status Build() { return Take(kind().build(build())); }

  absl::Status Take(absl::StatusOr<std::vector<bundle::v1::BundleFile>> files) {
    if (!files.ok()) return files.status();
    manifest.mutable_shards(0)->clear_index_files();
    for (auto& file : *files) *manifest.mutable_shards(0)->add_index_files() = std::move(file);
    return absl::OkStatus();
  }

  std::string path() const {
    return JoinPath(dir.File("generation"), manifest.shards(0).index_files(0).path());
  }
  std::string content() const { return *ReadFile(path()); }

  absl::StatusOr<std::unique_ptr<VectorIndex>> Open() {
    return kind().open(dir.File("generation"), manifest, 0, vectors, &pool, call);
  }
  std::unique_ptr<VectorIndex> BuiltAndOpen() {
    const absl::Status built = Build();
    if (!built.ok()) throw std::runtime_error(built.ToString());
    auto index = Open();
    if (!index.ok()) throw std::runtime_error(index.status().ToString());
    return *std::move(index);
  }

  TempDir dir;
  ComputePool pool{2};
  CallContext call = CallContext::Unbounded();
  VectorView vectors;
  bundle::v1::GenerationManifest manifest;
};

using NeighborLists = std::vector<std::vector<Neighbor>>;

// The true ones, by scoring all rows.
inline NeighborLists TrueNeighbors(const VectorView& vectors, const EmbeddingMatrix& queries,
                                   int top_k, const RowSet* among = nullptr) {
  NeighborLists lists;
  for (int64_t q = 0; q < queries.rows(); ++q) {
    std::vector<int64_t> rows;
    for (int64_t row = 0; row < vectors.rows; ++row) {
      if (among == nullptr || among->Contains(row)) rows.push_back(row);
    }
    lists.push_back(
        *BestOfRows(vectors, queries.row(q).data(), rows, top_k, CallContext::Unbounded()));
  }
  return lists;
}

// The share of `wanted` that is in `found`.
inline double RecallOf(const NeighborLists& wanted, const NeighborLists& found) {
  int64_t all = 0, there = 0;
  for (size_t q = 0; q < wanted.size(); ++q) {
    for (const Neighbor& one : wanted[q]) {
      ++all;
      there += std::any_of(found[q].begin(), found[q].end(),
                           [&](const Neighbor& other) { return other.row == one.row; });
    }
  }
  return all == 0 ? 1 : static_cast<double>(there) / static_cast<double>(all);
}

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_COMMON_INDEX_HNSW_SHARD_H_
