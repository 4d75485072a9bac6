// Arithmetic is the limit from two queries on, so rows are multiplied by a kernel of matrices,
// whose sums differ in their last bits from those by which scores are told.  What it finds within
// the error of both of a query's best so far is a candidate; at the end the few that are left are
// scored as a lone query would be.  So order and bits are the same, whatever else is in the batch.
//
// The matrix is cut into blocks that stay in a core's L2 cache while all queries of a group pass
// over them, and into parts; a part and a group are a cell, and the pool works off the cells.
// Rows of float16, and those that a filter lets through, are copied to such a block first.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/types/span.h"
#include "common/base/status_macros.h"
#include "common/index/candidates.h"
#include "common/index/flat_scan.h"
#include "common/index/row_blocks.h"
#include "common/index/row_scores.h"
#include "common/kernels/inner_products.h"

namespace sightline {
namespace {

// Queries that share a reading of the rows; more would gain nothing and leave the L2 cache.
constexpr int64_t kMostOfGroup = 64;

// Ceiling of a / b.
int64_t Quotient(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

// Some of the queries, as the kernel takes them.
struct Group {
  Group(const EmbeddingMatrix& queries, int64_t begin, int64_t end)
      : first(begin),
        panels(queries.row(begin).data(), queries.dimension(), end - begin, queries.dimension()) {
    for (int64_t query = begin; query < end; ++query) {
      lengths.push_back(kernels::LengthBound(queries.row(query).data(), queries.dimension()));
    }
  }

  int64_t count() const { return panels.count(); }

  int64_t first;
  kernels::QueryPanels panels;
  std::vector<double> lengths;
};

class Scan {
 public:
  Scan(const VectorView& vectors, const BlockLengths& lengths, const EmbeddingMatrix& queries,
       int top_k, const RowSet* among, int threads, const CallContext& call)
      : vectors_(vectors),
        lengths_(lengths),
        queries_(queries),
        among_(among),
        watch_(call),
        kernel_(kernels::InnerProductKernelFor(kernels::ThisCpu())),
        floors_(queries.rows()) {
    // A part smaller than this would spend its time on candidates.
    const int64_t least_rows = std::max<int64_t>(lengths.block_rows(), 4 * top_k);
    const int64_t most_parts = threads == 1 ? 1 : kRowPartsPerThread * threads;
    const int64_t affordable = kMostKept / (queries.rows() * Candidates::Capacity(top_k));
    const int64_t rows = among == nullptr ? vectors.rows : among->count();
    row_parts_ = std::clamp<int64_t>(std::min(rows / least_rows, affordable), 1, most_parts);
    MakeGroups(threads);
    best_.resize(row_parts_ * queries.rows(), Candidates(top_k));
  }

  absl::StatusOr<NeighborLists> Run(ComputePool* pool) {
    const auto groups = static_cast<int64_t>(groups_.size());
    pool->ParallelFor(row_parts_ * groups, 1, [&](int64_t begin, int64_t end) {
      for (int64_t cell = begin; cell < end; ++cell) {
        ScanCell(cell / groups, groups_[cell % groups]);
      }
    });
    RETURN_IF_ERROR(watch_.status());
    NeighborLists lists(queries_.rows());
    pool->ParallelFor(queries_.rows(), 1, [&](int64_t begin, int64_t end) {
      for (int64_t query = begin; query < end; ++query) lists[query] = Merge(query);
    });
    return lists;
  }

 private:
  // What is found in a cell goes through it.
  struct Found {
    explicit Found(const Group& group, int64_t block_rows)
        : limits(group.panels.padded_count(), std::numeric_limits<float>::infinity()),
          errors(group.count()),
          reached(block_rows * group.count()) {}

    std::vector<float> limits;  // of each query
    std::vector<float> errors;  // of each query, in the block at hand
    std::vector<kernels::Reached> reached;
  };

  // Few rows leave threads idle, for which there are smaller groups.
  void MakeGroups(int threads) {
    const int64_t wanted = Quotient(threads, row_parts_);
    const int64_t width = kernels::kQueryPanelWidth;
    const int64_t size =
        std::min(kMostOfGroup, Quotient(Quotient(queries_.rows(), wanted), width) * width);
    for (int64_t first = 0; first < queries_.rows(); first += size) {
      groups_.emplace_back(queries_, first, std::min(first + size, queries_.rows()));
    }
  }

  // Compares the rows of one part with the queries of one group.
  void ScanCell(int64_t part, const Group& group) {
    const RowRange range = PartOf(vectors_.rows, among_, lengths_.block_rows(), part, row_parts_);
    RowBlocks blocks(vectors_, lengths_, among_, range.begin, range.end);
    Found found(group, lengths_.block_rows());
    while (!watch_.IsOver() && blocks.Next()) ScanBlock(blocks, part, group, &found);
    for (int64_t query = group.first; query < group.first + group.count(); ++query) {
      floors_[query].Raise(BestOf(query, part).DropBeaten());
    }
  }

  void ScanBlock(const RowBlocks& block, int64_t part, const Group& group, Found* found) {
    for (int64_t i = 0; i < group.count(); ++i) {
      found->errors[i] =
          kernels::InnerProductError(vectors_.dimension, group.lengths[i], block.longest());
      // A product is a float: below the rounded difference it is below the true one too.
      found->limits[i] = floors_[group.first + i].score() - found->errors[i];
    }
    kernels::InnerProducts products = group.panels.Products();
    products.rows = block.rows();
    products.row_stride = block.stride();
    products.row_count = block.count();
    products.ahead = block.ahead();
    products.limits = found->limits.data();
    const int64_t count = kernel_.find(products, found->reached.data());
    for (const kernels::Reached& reached : absl::MakeConstSpan(found->reached).subspan(0, count)) {
      Offer(group.first + reached.query, part,
            {block.row(reached.row), reached.product, found->errors[reached.query]});
    }
  }

  void Offer(int64_t query, int64_t part, RoughNeighbor row) {
    if (!std::isfinite(row.score) || !std::isfinite(row.error)) {
      row.score = Score(query, row.row);
      row.error = 0;
      // Not below the floor, and a number: NaN (from infinite products of both signs) ranks
      // nowhere.
      if (!(row.score >= floors_[query].score())) return;
    }
    floors_[query].Raise(BestOf(query, part).Add(row, [&](int64_t r) { return Score(query, r); }));
  }

  std::vector<Neighbor> Merge(int64_t query) {
    Candidates all = std::move(BestOf(query, 0));
    for (int64_t part = 1; part < row_parts_; ++part) all.Add(std::move(BestOf(query, part)));
    return all.Take([&](int64_t row) { return Score(query, row); });
  }

  float Score(int64_t query, int64_t row) const {
    return RowScore(vectors_, queries_.row(query).data(), row);
  }

  // Written by one cell.
  Candidates& BestOf(int64_t query, int64_t part) { return best_[query * row_parts_ + part]; }

  const VectorView& vectors_;
  const BlockLengths& lengths_;
  const EmbeddingMatrix& queries_;
  const RowSet* const among_;
  CallWatch watch_;
  const kernels::InnerProductKernel& kernel_;
  int64_t row_parts_ = 1;
  std::vector<Group> groups_;
  std::vector<Candidates> best_;  // of each query and row part, query-major
  std::vector<Floor> floors_;     // of each query
};

}  // namespace

absl::StatusOr<NeighborLists> ScanForMany(const VectorView& vectors, const BlockLengths& lengths,
                                          const EmbeddingMatrix& queries, int top_k,
                                          const RowSet* among, ComputePool* pool,
                                          const CallContext& call) {
  return Scan(vectors, lengths, queries, top_k, among, pool->threads(), call).Run(pool);
}

}  // namespace sightline
