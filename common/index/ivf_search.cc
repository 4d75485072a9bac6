#include "common/index/ivf_search.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>

#include "common/base/dtype.h"
#include "common/base/status_macros.h"
#include "common/index/best_estimates.h"
#include "common/index/ivf_query.h"
#include "common/index/nibble_codes.h"
#include "common/index/rescoring.h"
#include "common/index/row_scanner.h"
#include "common/index/row_scores.h"

namespace sightline {
namespace {

// Candidates that are scored at least: a few more than one is sure to want.
constexpr int64_t kLeastCandidates = 32;
// Bytes that a thread reads in the time that it takes to wake another one up, and some more.
constexpr int64_t kBytesOfPart = int64_t{4} << 20;

// Rows of a shard to one that is let through, from which on all of these are scored.
constexpr int64_t kNarrow = 1000;
// Of what it takes to score all rows that are let through, how much may go into looking for the
// best of them in lists before that is what is done.
constexpr double kTrying = 0.5;
// Of memory, in a row of codes after another and in rows strewn about, and of a disk: about what
// one thread reads in a nanosecond, and how long it waits for a row; and how long it takes to see
// whether one is let through.
constexpr double kBytesOfNanosecond = 16;
constexpr double kLookNanoseconds = 2;
constexpr double kCodeNanoseconds = 10;
constexpr double kRowNanoseconds = 60;
constexpr double kDiskRowNanoseconds = 10'000;

// Of a search among some rows, in nanoseconds.
struct FilterCosts {
  FilterCosts(const IvfShape& shape, const VectorView& vectors) : every_code(shape.has_nibbles()) {
    const auto row_bytes =
        static_cast<double>(vectors.dimension * static_cast<int64_t>(DtypeSize(vectors.dtype)));
    row =
        vectors.on_disk() ? kDiskRowNanoseconds : kRowNanoseconds + row_bytes / kBytesOfNanosecond;
    code = static_cast<double>(ScannedBytes(shape, vectors)) / kBytesOfNanosecond +
           (every_code ? kCodeNanoseconds : kRowNanoseconds);
  }

  const double look = kLookNanoseconds;
  double row = 0;           // to score one
  double code = 0;          // to estimate one
  bool every_code = false;  // of a list, also of rows that are not let through
};

class ListSearch {
 public:
  ListSearch(const IvfParts& index, const float* query, const IvfRequest& request,
             const CallContext& call)
      : index_(index),
        request_(request),
        call_(call),
        query_(query, index.file->shape, *index.space),
        scanner_(RowScannerOf(*index.file, index.vectors, query_)),
        best_(CandidateCount()) {}

  absl::StatusOr<std::vector<Neighbor>> Run(ComputePool* pool) {
    const std::vector<RankedList> lists = request_.among == nullptr
                                              ? index_.ranking->Best(query_, request_.effort)
                                              : std::vector<RankedList>();
    if (RowsOf(lists) >= LeastMatches()) {
      RETURN_IF_ERROR(ScanAll(lists, pool));
    } else {
      ASSIGN_OR_RETURN(const bool found, ScanMatches());
      if (!found) {
        return BestOfRange(index_.vectors, query_.numbers, request_.among,
                           {0, index_.file->shape.rows}, request_.top_k, call_);
      }
    }
    if (index_.file->shape.code == IvfCode::kRows) return Neighbors();
    return BestOfCandidates(index_.vectors, query_, best_.Take(), request_.top_k, call_);
  }

 private:
  int64_t CandidateCount() const {
    const IvfShape& shape = index_.file->shape;
    if (shape.code == IvfCode::kRows) return request_.top_k;
    return std::max(kLeastCandidates, int64_t{shape.refine} * request_.top_k);
  }

  // Whoever asks for k rows gets them where there are as many, however little effort that is.
  int64_t LeastMatches() const { return std::min<int64_t>(request_.top_k, request_.among_count); }

  int64_t RowsOf(const std::vector<RankedList>& lists) const {
    int64_t rows = 0;
    for (const RankedList& list : lists) rows += end(list) - begin(list);
    return rows;
  }

  int64_t begin(const RankedList& ranked) const { return index_.file->offsets()[ranked.list]; }
  int64_t end(const RankedList& ranked) const { return index_.file->offsets()[ranked.list + 1]; }

  bool IsOver() const { return call_.cancelled() || call_.expired(); }

  // Those of `lists` at `first`, `first` + `step` and so on.
  void ScanSome(const std::vector<RankedList>& lists, size_t first, size_t step,
                BestEstimates* best) const {
    for (size_t i = first; i < lists.size(); i += step) {
      if (IsOver()) return;
      if (i + step < lists.size()) {
        scanner_->Prefetch(begin(lists[i + step]), end(lists[i + step]));
      }
      scanner_->Scan(begin(lists[i]), end(lists[i]), lists[i].product, nullptr, best);
    }
  }

  absl::Status ScanAll(const std::vector<RankedList>& lists, ComputePool* pool) {
    int64_t parts = 1;
    if (pool != nullptr && pool->threads() > 1) {
      const int64_t bytes = RowsOf(lists) * ScannedBytes(index_.file->shape, index_.vectors);
      parts = std::clamp<int64_t>(bytes / kBytesOfPart, 1, pool->threads());
    }
    if (parts == 1) {
      ScanSome(lists, 0, 1, &best_);
    } else {
      std::vector<BestEstimates> bests(parts, BestEstimates(CandidateCount()));
      pool->ParallelFor(parts, 1, [&](int64_t from, int64_t to) {
        for (int64_t part = from; part < to; ++part) ScanSome(lists, part, parts, &bests[part]);
      });
      for (const BestEstimates& best : bests) best_.Add(best);
    }
    return call_.Check("index search");
  }

  // The kth best estimate, in the units of promises, which are of the query at length one; minus
  // infinity where there is none, or only of rows that cannot be estimated.
  double KthBest(const BestEstimates& best, int64_t k) const {
    const double value = best.ValueAt(k);
    if (!(value > kLastOfAll.offset)) return -std::numeric_limits<double>::infinity();
    const bool scores = index_.file->shape.code == IvfCode::kRows;
    return scores && query_.length > 0 ? value / query_.length : value;
  }

  // How far the promise of the last list that a search of all rows looks into lies below its kth
  // best row.  Infinite if that is not known: then no list is left out.
  double Margin() const {
    const std::vector<RankedList> lists = index_.ranking->Best(query_, request_.effort);
    BestEstimates best(request_.top_k);
    ScanSome(lists, 0, 1, &best);
    const double worst = KthBest(best, std::min<int64_t>(request_.top_k, RowsOf(lists)));
    return std::isfinite(worst) ? worst - lists.back().promise
                                : std::numeric_limits<double>::infinity();
  }

  // List after list until enough rows were let through, and of those that are left the most
  // promising one promises less than a search of all rows would look into for a kth row as good as
  // the one so far; at least `effort` lists, and some more.  False once it has cost half as much as
  // to score all that may be found: whoever does that then takes half as long again as at once, and
  // rows that lie together have been found long before.
  absl::StatusOr<bool> ScanMatches() {
    constexpr int64_t kListsBetweenLooks = 8;
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    const IvfShape& shape = index_.file->shape;
    const bool filtered = request_.among != nullptr;
    const uint64_t* const among = filtered ? request_.among_words : nullptr;
    const FilterCosts costs(shape, index_.vectors);
    const double most =
        filtered ? kTrying * costs.row * static_cast<double>(request_.among_count) : kInfinity;
    const double margin = filtered ? Margin() : 0;
    // Lists that promise less are left out.
    double enough = filtered ? -kInfinity : kInfinity;
    double spent = 0;
    int64_t matches = 0, lists = 0;
    std::vector<bool> seen(shape.lists);
    for (int64_t count = std::min(FirstLists(), shape.lists);; count = shape.lists) {
      for (const RankedList& ranked : index_.ranking->Best(query_, count)) {
        const bool may_end = lists >= request_.effort && matches >= LeastMatches();
        if (may_end && ranked.promise < enough) return true;
        if (seen[ranked.list]) continue;
        if (spent > most) return false;
        RETURN_IF_ERROR(call_.Check("index search"));
        seen[ranked.list] = true;
        const int64_t rows = end(ranked) - begin(ranked);
        const int64_t matched =
            scanner_->Scan(begin(ranked), end(ranked), ranked.product, among, &best_);
        matches += matched;
        spent += costs.look * static_cast<double>(rows) +
                 costs.code * static_cast<double>(costs.every_code ? rows : matched);
        if (++lists % kListsBetweenLooks == 0 && filtered && may_end) {
          enough = KthBest(best_, request_.top_k) - margin;
        }
      }
      if (count == shape.lists) return true;
    }
  }

  // As many lists as hold the best if they are strewn at random, and some more.
  int64_t FirstLists() const {
    const double share =
        static_cast<double>(request_.among_count) / static_cast<double>(index_.file->shape.rows);
    return 1 + static_cast<int64_t>(1.25 * static_cast<double>(request_.effort) / std::sqrt(share));
  }

  // Of estimates that are the scores.
  std::vector<Neighbor> Neighbors() {
    std::vector<Neighbor> neighbors;
    std::vector<Estimate> best = best_.Take();
    std::sort(best.begin(), best.end());
    for (const Estimate& estimate : best) neighbors.push_back({estimate.row, estimate.value});
    return neighbors;
  }

  const IvfParts& index_;
  const IvfRequest& request_;
  const CallContext& call_;
  const IvfQuery query_;
  const std::unique_ptr<RowScanner> scanner_;
  BestEstimates best_;
};

}  // namespace

absl::StatusOr<std::vector<Neighbor>> SearchLists(const IvfParts& index, const float* query,
                                                  const IvfRequest& request, ComputePool* pool,
                                                  const CallContext& call) {
  return ListSearch(index, query, request, call).Run(pool);
}

int64_t MatchesWanted(const IvfShape& shape, int64_t effort, int64_t count) {
  const double share = static_cast<double>(count) / static_cast<double>(shape.rows);
  const double list_rows = static_cast<double>(shape.rows) / static_cast<double>(shape.lists);
  return static_cast<int64_t>(
      std::ceil(static_cast<double>(effort) * list_rows * std::sqrt(share)));
}

bool IsNarrow(const IvfShape& shape, const VectorView& vectors, int64_t effort, int64_t count) {
  if (count <= shape.rows / kNarrow) return true;
  const FilterCosts costs(shape, vectors);
  const auto matched = static_cast<double>(MatchesWanted(shape, effort, count));
  const double rows = matched * static_cast<double>(shape.rows) / static_cast<double>(count);
  // Of codes in blocks those of other rows are read as well.
  const double search = costs.look * rows + costs.code * (costs.every_code ? rows : matched);
  return kTrying * costs.row * static_cast<double>(count) <= search;
}

}  // namespace sightline
