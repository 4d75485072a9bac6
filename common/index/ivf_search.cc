#include "common/index/ivf_search.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>

#include "common/base/dtype.h"
#include "common/base/limits.h"
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
// Lists with a filter of which so many are looked into at least, before what they have says which
// others are.
constexpr int64_t kLeastFirstLists = 16;
// Rows that are worth a thread when all are scored.
constexpr int64_t kRowsOfThread = 16384;
// Bytes that a thread reads in the time that it takes to wake another one up, and some more.
constexpr int64_t kBytesOfPart = int64_t{4} << 20;

// Rows of a shard to one that is let through, from which on all of these are scored.
constexpr int64_t kNarrow = 1000;
// Of what it takes to score all rows that are let through, how much may go into looking for the
// best of them in lists before that is what is done.
constexpr double kTrying = 0.5;
// About what one thread reads of memory in a nanosecond.
constexpr double kBytesOfNanosecond = 16;
// To see whether a row is let through.
constexpr double kLookNanoseconds = 2;
// Beside reading: for a code that follows another, and for a row that lies anywhere.
constexpr double kCodeNanoseconds = 10;
constexpr double kRowNanoseconds = 60;
// For a row on a disk.
constexpr double kDiskRowNanoseconds = 10'000;

// Of a search, in nanoseconds.
struct SearchCosts {
  SearchCosts(const IvfShape& shape, const VectorView& vectors) : every_code(shape.has_nibbles()) {
    const auto row_bytes =
        static_cast<double>(vectors.dimension * static_cast<int64_t>(DtypeSize(vectors.dtype)));
    row =
        vectors.on_disk() ? kDiskRowNanoseconds : kRowNanoseconds + row_bytes / kBytesOfNanosecond;
    const double reading = static_cast<double>(ScannedBytes(shape, vectors)) / kBytesOfNanosecond;
    next_code = reading + kCodeNanoseconds;
    code = every_code ? next_code : reading + kRowNanoseconds;
  }

  const double look = kLookNanoseconds;
  double row = 0;           // to score one
  double next_code = 0;     // to estimate one after another
  double code = 0;          // to estimate one that is let through
  bool every_code = false;  // of a list, also of rows that are not let through
};

int64_t CandidateCount(const IvfShape& shape, int top_k) {
  if (shape.code == IvfCode::kRows) return top_k;
  return std::max(kLeastCandidates, int64_t{shape.refine} * top_k);
}

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
    if (request_.among == nullptr) {
      RETURN_IF_ERROR(
          ScanAll(index_.ranking->BestHolding(query_, request_.effort, request_.top_k), pool));
    } else {
      ASSIGN_OR_RETURN(const bool found, ScanMatches());
      if (!found) {
        return ScoreAll(index_.vectors, query_.numbers, request_.among, request_.top_k, pool,
                        call_);
      }
    }
    if (index_.file->shape.code == IvfCode::kRows) return Neighbors();
    return BestOfCandidates(index_.vectors, query_, best_.Take(), request_.top_k, call_);
  }

 private:
  int64_t CandidateCount() const {
    return sightline::CandidateCount(index_.file->shape, request_.top_k);
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
    const IvfShape& shape = index_.file->shape;
    const SearchCosts costs(shape, index_.vectors);
    const double most = kTrying * costs.row * static_cast<double>(request_.among_count);
    const double margin = Margin();
    // Lists that promise less are left out.
    double enough = -std::numeric_limits<double>::infinity();
    double spent = 0;
    int64_t matches = 0, lists = 0;
    int64_t unseen_lists = 0, unseen_rows = 0;  // since `enough` was looked for
    std::vector<bool> seen(shape.lists);
    const int64_t first = FirstLists(shape, request_.effort, request_.among_count);
    for (int64_t count = first;; count = shape.lists) {
      for (const RankedList& ranked : index_.ranking->Best(query_, count)) {
        const bool may_end = lists >= request_.effort && matches >= LeastMatches();
        if (may_end && ranked.promise < enough) return true;
        if (seen[ranked.list]) continue;
        if (spent > most) return false;
        RETURN_IF_ERROR(call_.Check("index search"));
        seen[ranked.list] = true;
        const int64_t rows = end(ranked) - begin(ranked);
        const int64_t matched = scanner_->Scan(begin(ranked), end(ranked), ranked.product,
                                               request_.among_words, &best_);
        matches += matched;
        spent += costs.look * static_cast<double>(rows) +
                 costs.code * static_cast<double>(costs.every_code ? rows : matched);
        ++lists;
        unseen_rows += rows;
        // To look takes a step for each candidate.
        if (++unseen_lists >= kListsBetweenLooks && unseen_rows >= CandidateCount() && may_end) {
          enough = KthBest(best_, request_.top_k) - margin;
          unseen_lists = unseen_rows = 0;
        }
      }
      if (count == shape.lists) return true;
    }
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

absl::StatusOr<std::vector<Neighbor>> ScoreAll(const VectorView& vectors, const float* query,
                                               const RowSet* among, int top_k, ComputePool* pool,
                                               const CallContext& call) {
  const int64_t count = among != nullptr ? among->count() : vectors.rows;
  const int64_t parts =
      pool == nullptr ? 1 : std::clamp<int64_t>(count / kRowsOfThread, 1, pool->threads());
  std::vector<absl::StatusOr<std::vector<Neighbor>>> bests(parts, std::vector<Neighbor>());
  const auto score = [&](int64_t from, int64_t to) {
    for (int64_t part = from; part < to; ++part) {
      bests[part] = BestOfRange(vectors, query, among, PartOf(vectors.rows, among, 1, part, parts),
                                top_k, call);
    }
  };
  if (parts == 1) {
    score(0, 1);
  } else {
    pool->ParallelFor(parts, 1, score);
  }
  for (const auto& best : bests) RETURN_IF_ERROR(best.status());
  for (int64_t part = 1; part < parts; ++part) MergeBest(*bests[part], top_k, &*bests[0]);
  return std::move(bests[0]);
}

int64_t FirstLists(const IvfShape& shape, int64_t effort, int64_t count) {
  const double share = static_cast<double>(count) / static_cast<double>(shape.rows);
  const auto strewn = static_cast<int64_t>(1.25 * static_cast<double>(effort) / std::sqrt(share));
  return std::min(shape.lists, std::max(kLeastFirstLists, 1 + strewn));
}

int64_t MatchesWanted(const IvfShape& shape, int64_t effort, int64_t count) {
  const double share = static_cast<double>(count) / static_cast<double>(shape.rows);
  const double list_rows = static_cast<double>(shape.rows) / static_cast<double>(shape.lists);
  return static_cast<int64_t>(
      std::ceil(static_cast<double>(effort) * list_rows * std::sqrt(share)));
}

bool IsNarrow(const IvfShape& shape, const VectorView& vectors, int64_t effort, int64_t count) {
  if (count <= shape.rows / kNarrow) return true;
  const SearchCosts costs(shape, vectors);
  const auto matched = static_cast<double>(MatchesWanted(shape, effort, count));
  const double rows = matched * static_cast<double>(shape.rows) / static_cast<double>(count);
  // Of codes in blocks those of other rows are read as well.
  const double search = costs.look * rows + costs.code * (costs.every_code ? rows : matched);
  return kTrying * costs.row * static_cast<double>(count) <= search;
}

bool ComparesAll(const IvfShape& shape, const VectorView& vectors, const SearchOptions& options) {
  if (options.effort >= shape.lists || options.effort == limits::kMaxEffort) return true;
  if (options.among == nullptr) return false;
  const int64_t count = options.among->count();
  return count <= options.top_k || IsNarrow(shape, vectors, options.effort, count);
}

IvfRequest RequestOf(const IvfShape& shape, const SearchOptions& options) {
  IvfRequest request;
  request.top_k = options.top_k;
  request.effort = options.effort;
  request.among = options.among;
  request.among_count = options.among != nullptr ? options.among->count() : shape.rows;
  return request;
}

double WorkOfSearch(const IvfShape& shape, const VectorView& vectors, const IvfRequest& request) {
  constexpr int kFew = 10;
  const SearchCosts costs(shape, vectors);
  const double scan = costs.next_code * static_cast<double>(request.effort) *
                      static_cast<double>(shape.rows) / static_cast<double>(shape.lists);
  const auto rescoring = [&](int top_k) {
    if (shape.code == IvfCode::kRows) return 0.0;
    return costs.row * static_cast<double>(CandidateCount(shape, top_k));
  };
  double scans = 1;
  if (request.among != nullptr) {  // that without the filter, and MatchesWanted
    scans += std::sqrt(static_cast<double>(shape.rows) /
                       static_cast<double>(std::max<int64_t>(request.among_count, 1)));
  }
  return (scans * scan + rescoring(request.top_k)) / (scan + rescoring(kFew));
}

}  // namespace sightline
