// The matrix is cut into blocks, between which the call is looked at, and parts, which the pool
// works off.  Arithmetic keeps up with memory, so there is nothing to gain but by reading less.
#include <algorithm>
#include <cmath>
#include <utility>

#include "common/base/status_macros.h"
#include "common/index/flat_scan.h"
#include "common/index/row_scores.h"

namespace sightline {
namespace {

constexpr int64_t kBlockBytes = 256 << 10;
// Rows that a filter has let through, of a block.
constexpr int64_t kFewRows = 128;

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

  // In any order.  The object is spent.
  std::vector<Neighbor> Take() { return std::move(heap_); }

 private:
  const size_t k_;
  std::vector<Neighbor> heap_;  // the worst on top
};

class Scan {
 public:
  Scan(const VectorView& vectors, const float* query, int top_k, const RowSet* among, int threads,
       const CallContext& call)
      : vectors_(vectors),
        query_(query),
        top_k_(top_k),
        among_(among),
        call_(call),
        watch_(call),
        block_rows_(std::max<int64_t>(
            kBlockBytes / (vectors.stride * static_cast<int64_t>(DtypeSize(vectors.dtype))), 1)) {
    const int64_t rows = among == nullptr ? vectors.rows : among->count();
    // A part smaller than this would spend its time filling heaps and merging them.
    const int64_t least_rows =
        std::max<int64_t>(among == nullptr ? block_rows_ : kFewRows, 4 * top_k);
    const int64_t most_parts = threads == 1 ? 1 : kRowPartsPerThread * threads;
    best_.resize(
        std::clamp<int64_t>(std::min(rows / least_rows, kMostKept / top_k), 1, most_parts));
  }

  absl::StatusOr<NeighborLists> Run(ComputePool* pool) {
    const auto parts = static_cast<int64_t>(best_.size());
    pool->ParallelFor(parts, 1, [this](int64_t begin, int64_t end) {
      for (int64_t part = begin; part < end; ++part) ScanPart(part);
    });
    RETURN_IF_ERROR(watch_.status());
    return NeighborLists{Merge()};
  }

 private:
  void ScanPart(int64_t part) {
    const RowRange range =
        PartOf(vectors_.rows, among_, 1, part, static_cast<int64_t>(best_.size()));
    BestRows best(top_k_, range.end - range.begin);
    if (among_ == nullptr) {
      ScanAll(range, best);
    } else {
      ScanSome(range, best);
    }
    best_[part] = best.Take();
  }

  void ScanAll(RowRange range, BestRows& best) {
    for (int64_t block = range.begin; block < range.end; block += block_rows_) {
      if (watch_.IsOver()) return;
      const int64_t end = std::min(block + block_rows_, range.end);
      const float floor = floor_.score();
      for (int64_t row = block; row < end; ++row) {
        Offer(row, RowScore(vectors_, query_, row), floor, best);
      }
      if (best.full()) floor_.Raise(best.worst_score());
    }
  }

  void ScanSome(RowRange range, BestRows& best) {
    RowSetCursor cursor(among_, range.begin, range.end);
    std::vector<int64_t> rows;
    std::vector<float> scores(kFewRows);
    while (!watch_.IsOver()) {
      rows.clear();
      for (int64_t row; rows.size() < kFewRows && (row = cursor.Next()) >= 0;) rows.push_back(row);
      if (rows.empty()) return;
      const auto some = absl::MakeSpan(scores).subspan(0, rows.size());
      // Rows in memory are there: it can only be that the call is over.
      if (!ScoreRows(vectors_, query_, rows, some, call_).ok()) continue;
      const float floor = floor_.score();
      for (size_t i = 0; i < rows.size(); ++i) Offer(rows[i], some[i], floor, best);
      if (best.full()) floor_.Raise(best.worst_score());
    }
  }

  static void Offer(int64_t row, float score, float floor, BestRows& best) {
    if (score < floor) return;
    best.Offer(row, score);
  }

  std::vector<Neighbor> Merge() {
    std::vector<Neighbor> all = std::move(best_[0]);
    for (size_t part = 1; part < best_.size(); ++part) {
      all.insert(all.end(), best_[part].begin(), best_[part].end());
    }
    if (all.size() > static_cast<size_t>(top_k_)) {
      std::nth_element(all.begin(), all.begin() + top_k_, all.end(), RanksBefore);
      all.resize(top_k_);
    }
    std::sort(all.begin(), all.end(), RanksBefore);
    return all;
  }

  const VectorView& vectors_;
  const float* const query_;
  const int top_k_;
  const RowSet* const among_;
  const CallContext& call_;
  CallWatch watch_;
  const int64_t block_rows_;
  std::vector<std::vector<Neighbor>> best_;  // of each part
  Floor floor_;
};

}  // namespace

absl::StatusOr<NeighborLists> ScanForOne(const VectorView& vectors, const EmbeddingMatrix& query,
                                         int top_k, const RowSet* among, ComputePool* pool,
                                         const CallContext& call) {
  return Scan(vectors, query.data(), top_k, among, pool->threads(), call).Run(pool);
}

}  // namespace sightline
