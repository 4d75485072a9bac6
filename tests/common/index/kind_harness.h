// Shards of made-up rows, built and opened as any kind of index, and the referee for what is found.
//
//   const GappedRows rows = ClusteredRows(2000, 32, Dtype::kFloat16);
//   KindShard shard(kind_case, rows.view());
//   REQUIRE(shard.Build(&pool).ok());
//   auto index = shard.Open(&pool);
//   REQUIRE(SameLists(Find(**index, queries, {.top_k = 10}), Referee(rows, queries, 10)));
#ifndef SIGHTLINE_TESTS_COMMON_INDEX_KIND_HARNESS_H_
#define SIGHTLINE_TESTS_COMMON_INDEX_KIND_HARNESS_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/base/call_context.h"
#include "common/base/compute_pool.h"
#include "common/base/dtype.h"
#include "common/embedding/embedding_matrix.h"
#include "common/embedding/row_reader.h"
#include "common/embedding/row_set.h"
#include "common/index/index_kind.h"
#include "common/index/vector_index.h"
#include "sightline/bundle/v1/generation.pb.h"
#include "tests/common/index/kind_cases.h"
#include "tests/support/temp_dir.h"

namespace sightline {

using NeighborLists = std::vector<std::vector<Neighbor>>;

// Rows as a shard stores them, with a gap behind each that is filled with NaN, so that reading it
// shows.  A value.
class GappedRows {
 public:
  // Rounds to `dtype`.
  GappedRows(const EmbeddingMatrix& values, Dtype dtype);

  VectorView view() const;
  int64_t rows() const { return rows_; }
  int dimension() const { return dimension_; }

 private:
  int64_t rows_;
  int dimension_;
  Dtype dtype_;
  int64_t stride_;
  std::vector<char> bytes_;
};

// Rows in groups, as embeddings are: some lie close together, most do not.
EmbeddingMatrix ClusteredRows(int64_t rows, int dimension, uint32_t seed);
// Each near some row of `rows`.
EmbeddingMatrix QueriesNear(const EmbeddingMatrix& rows, int64_t count, uint32_t seed);

// Rows on a disk that cannot be trusted: serves those of `rows`, which outlives it.  Thread-safe.
class MemoryReader : public RowReader {
 public:
  explicit MemoryReader(const VectorView& rows) : rows_(rows) {}

  // The view of an index that reads through this.
  VectorView view() const;

  // From the call after so many on, reads fail; negative: none does.
  void FailAfter(int calls) { calls_left_ = calls; }
  int64_t rows_read() const { return rows_read_; }

  absl::Status Read(absl::Span<const int64_t> rows, char* to) const override;

 private:
  const VectorView rows_;
  mutable std::atomic<int> calls_left_{-1};
  mutable std::atomic<int64_t> rows_read_{0};
};

// One shard in a folder of its own.
class KindShard {
 public:
  KindShard(const KindCase& kind_case, const VectorView& vectors);

  // Whether the kind has such an index of such rows, where they lie.
  bool Fits() const;
  const IndexKind& kind() const { return *kind_; }
  const std::string& directory() const { return directory_.path(); }
  const bundle::v1::GenerationManifest& manifest() const { return manifest_; }
  bundle::v1::GenerationManifest* mutable_manifest() { return &manifest_; }

  // What a build with `call` returns; a later one goes on in the same work directory.
  absl::Status Build(ComputePool* pool, const CallContext& call = CallContext::Unbounded());
  absl::StatusOr<std::unique_ptr<VectorIndex>> Open(ComputePool* pool) const;
  // Open over other vectors.
  absl::StatusOr<std::unique_ptr<VectorIndex>> Open(const VectorView& vectors,
                                                    ComputePool* pool) const;

  // Paths and contents of what was built.
  std::vector<std::string> Files() const;
  std::vector<std::string> Contents() const;

 private:
  TempDir directory_;
  TempDir work_directory_;
  const IndexKind* kind_;
  VectorView vectors_;
  bundle::v1::GenerationManifest manifest_;
};

// The exact scores of all rows that `among`, unless it is null, lets through, sorted.
NeighborLists Referee(const VectorView& rows, const EmbeddingMatrix& queries, int top_k,
                      const RowSet* among = nullptr);

// A search that must not fail.
NeighborLists Find(const VectorIndex& index, const EmbeddingMatrix& queries,
                   const SearchOptions& options);

bool SameLists(const NeighborLists& a, const NeighborLists& b);

// The share of the rows in `truth` that `found` has.
double RecallOf(const NeighborLists& found, const NeighborLists& truth);

// That every list is sorted without repetitions, in reach of `among`, and tells exact scores.
bool IsSound(const NeighborLists& found, const VectorView& rows, const EmbeddingMatrix& queries,
             const SearchOptions& options);

// As a list and as bits.
RowSet ListOf(const std::vector<int64_t>& rows, int64_t universe);
RowSet BitsOf(const std::vector<int64_t>& rows, int64_t universe);

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_COMMON_INDEX_KIND_HARNESS_H_
