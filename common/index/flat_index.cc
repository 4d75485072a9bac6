// Exact search: every row is compared with every query.
//
// The matrix is cut into blocks that stay in a core's L2 cache while all queries of the
// batch pass over them, so that a batch reads memory once.  Each pair goes through the
// same FAISS kernel with the same operands, so a score has the same bits whatever else is
// in the batch and however many threads there are; the order (score, then row) is total,
// so the result has as well.  The kernel is free of OpenMP; threads come from the pool.
#include <faiss/utils/distances.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "common/base/status_macros.h"
#include "common/index/index_checks.h"
#include "common/index/index_kind.h"
#include "common/index/vector_index.h"

namespace sightline {
namespace {

// A quarter of the 1 MiB of L2 that today's server cores have at least, which leaves room
// for the queries.
constexpr int64_t kBlockBytes = 256 << 10;

// Parts of the matrix per thread; who finishes early takes another.
constexpr int64_t kRowPartsPerThread = 4;

bool RanksBefore(const Neighbor& a, const Neighbor& b) {
  return a.score != b.score ? a.score > b.score : a.row < b.row;
}

// The best `k` of the rows offered so far.
class BestRows {
 public:
  // `rows` will be offered in all.
  BestRows(int k, int64_t rows) : k_(k) { heap_.reserve(std::min<int64_t>(k, rows)); }

  // Rows must come in ascending order: a later one with an equal score ranks after.  A
  // score that is NaN (from infinite products of both signs) ranks nowhere.
  void Offer(int64_t row, float score) {
    if (full()) {
      if (!(score > heap_.front().score)) return;
      std::pop_heap(heap_.begin(), heap_.end(), RanksBefore);
      heap_.back() = {row, score};
    } else {
      if (std::isnan(score)) return;
      heap_.push_back({row, score});
    }
    std::push_heap(heap_.begin(), heap_.end(), RanksBefore);
  }

  bool full() const { return heap_.size() == k_; }
  // Of the last one in the list, which must not be empty.
  float worst_score() const { return heap_.front().score; }

  // Best first.  The object is spent.
  std::vector<Neighbor> Take() {
    std::sort_heap(heap_.begin(), heap_.end(), RanksBefore);
    return std::move(heap_);
  }

 private:
  const size_t k_;
  std::vector<Neighbor> heap_;  // the worst on top
};

// Neighbors that the parts of one search may hold before they are merged (64 MiB).
constexpr int64_t kMostKept = int64_t{4} << 20;

// Ceiling of a / b.
int64_t Quotient(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

// One search under way: the grid of row parts and query parts that the pool works off.
class Scan {
 public:
  Scan(const VectorView& vectors, const EmbeddingMatrix& queries, int top_k, int threads,
       const CallContext& call)
      : vectors_(vectors),
        queries_(queries),
        top_k_(top_k),
        call_(call),
        block_rows_(std::max<int64_t>(
            kBlockBytes / (vectors.stride * static_cast<int64_t>(sizeof(float))), 1)),
        floors_(queries.rows()) {
    for (auto& floor : floors_) floor = -std::numeric_limits<float>::infinity();
    // A part smaller than this would spend its time filling heaps and merging them.
    const int64_t least_rows = std::max<int64_t>(block_rows_, 4 * top_k);
    const int64_t most_parts = threads == 1 ? 1 : kRowPartsPerThread * threads;
    const int64_t affordable = kMostKept / (queries.rows() * top_k);
    row_parts_ =
        std::clamp<int64_t>(std::min(vectors.rows / least_rows, affordable), 1, most_parts);
    // Few rows or very many queries: the queries are shared out instead.
    query_parts_ = std::clamp<int64_t>(Quotient(threads, row_parts_), 1, queries.rows());
    best_.resize(row_parts_ * queries.rows());
  }

  absl::StatusOr<std::vector<std::vector<Neighbor>>> Run(ComputePool* pool) {
    pool->ParallelFor(row_parts_ * query_parts_, 1, [this](int64_t begin, int64_t end) {
      for (int64_t cell = begin; cell < end; ++cell) {
        ScanCell(cell / query_parts_, cell % query_parts_);
      }
    });
    if (over_) return call_.Check("index search");
    std::vector<std::vector<Neighbor>> merged(queries_.rows());
    pool->ParallelFor(queries_.rows(), 1, [&](int64_t begin, int64_t end) {
      for (int64_t query = begin; query < end; ++query) merged[query] = Merge(query);
    });
    return merged;
  }

 private:
  // Compares the rows of one part with the queries of one part.
  void ScanCell(int64_t row_part, int64_t query_part) {
    const int64_t first_row = vectors_.rows * row_part / row_parts_;
    const int64_t last_row = vectors_.rows * (row_part + 1) / row_parts_;
    const int64_t first_query = queries_.rows() * query_part / query_parts_;
    const int64_t last_query = queries_.rows() * (query_part + 1) / query_parts_;
    std::vector<BestRows> best;
    best.reserve(last_query - first_query);
    for (int64_t query = first_query; query < last_query; ++query) {
      best.emplace_back(top_k_, last_row - first_row);
    }
    for (int64_t block = first_row; block < last_row; block += block_rows_) {
      if (CallIsOver()) return;
      const int64_t block_end = std::min(block + block_rows_, last_row);
      for (int64_t query = first_query; query < last_query; ++query) {
        ScanBlock(query, block, block_end, best[query - first_query]);
      }
    }
    for (int64_t query = first_query; query < last_query; ++query) {
      best_[query * row_parts_ + row_part] = best[query - first_query].Take();
    }
  }

  void ScanBlock(int64_t query, int64_t begin, int64_t end, BestRows& best) {
    const float* const values = queries_.row(query).data();
    const float* row = vectors_.data + begin * vectors_.stride;
    const float floor = floors_[query].load(std::memory_order_relaxed);
    for (int64_t i = begin; i < end; ++i, row += vectors_.stride) {
      const float score = faiss::fvec_inner_product(values, row, vectors_.dimension);
      if (score < floor) continue;
      best.Offer(i, score);
    }
    if (best.full()) RaiseFloor(query, best.worst_score());
  }

  void RaiseFloor(int64_t query, float score) {
    float seen = floors_[query].load(std::memory_order_relaxed);
    while (seen < score &&
           !floors_[query].compare_exchange_weak(seen, score, std::memory_order_relaxed)) {
    }
  }

  // The best of one query's row parts.
  std::vector<Neighbor> Merge(int64_t query) {
    auto* const parts = &best_[query * row_parts_];
    if (row_parts_ == 1) return std::move(parts[0]);
    std::vector<Neighbor> all;
    for (int64_t part = 0; part < row_parts_; ++part) {
      all.insert(all.end(), parts[part].begin(), parts[part].end());
    }
    if (all.size() > static_cast<size_t>(top_k_)) {
      std::nth_element(all.begin(), all.begin() + top_k_, all.end(), RanksBefore);
      all.resize(top_k_);
    }
    std::sort(all.begin(), all.end(), RanksBefore);
    return all;
  }

  // Looked at between blocks, by all threads; the first to see it tells the others.
  bool CallIsOver() {
    if (over_) return true;
    if (!call_.cancelled() && !call_.expired()) return false;
    over_ = true;
    return true;
  }

  const VectorView& vectors_;
  const EmbeddingMatrix& queries_;
  const int top_k_;
  const CallContext& call_;
  const int64_t block_rows_;
  int64_t row_parts_ = 1;
  int64_t query_parts_ = 1;
  // Of each query and row part, query-major.  A slot is written by one cell.
  std::vector<std::vector<Neighbor>> best_;
  // For each query the worst score of the best full list of any part so far.  What scores
  // below it cannot be among the best of all, so late parts need not collect it; this
  // spares time and never changes a result.
  std::vector<std::atomic<float>> floors_;
  std::atomic<bool> over_{false};
};

class FlatIndex : public VectorIndex {
 public:
  FlatIndex(const VectorView& vectors, ComputePool* pool) : vectors_(vectors), pool_(pool) {}

  absl::StatusOr<std::vector<std::vector<Neighbor>>> Search(
      const EmbeddingMatrix& queries, const SearchOptions& options,
      const CallContext& call) const override {
    RETURN_IF_ERROR(CheckSearch(queries, options, vectors_.dimension, call));
    if (queries.rows() == 0) return std::vector<std::vector<Neighbor>>();
    ComputePool* const pool = options.pool != nullptr ? options.pool : pool_;
    return Scan(vectors_, queries, options.top_k, pool->threads(), call).Run(pool);
  }

  int dimension() const override { return vectors_.dimension; }
  int64_t size() const override { return vectors_.rows; }

 private:
  const VectorView vectors_;
  ComputePool* const pool_;
};

int64_t Footprint(const bundle::v1::ShardManifest& shard) {
  return shard.vectors().byte_count();
}

absl::StatusOr<std::unique_ptr<VectorIndex>> Open(absl::string_view,
                                                  const bundle::v1::GenerationManifest&, int,
                                                  const VectorView& vectors, ComputePool* pool,
                                                  const CallContext&) {
  return OpenFlatIndex(vectors, pool);
}

}  // namespace

absl::StatusOr<std::unique_ptr<VectorIndex>> OpenFlatIndex(const VectorView& vectors,
                                                           ComputePool* pool) {
  RETURN_IF_ERROR(CheckView(vectors));
  if (pool == nullptr) return absl::InvalidArgumentError("a flat index needs a compute pool");
  return std::make_unique<FlatIndex>(vectors, pool);
}

extern const IndexKind kFlatIndexKind = {"flat", &Footprint, /*build=*/nullptr, &Open};

}  // namespace sightline
