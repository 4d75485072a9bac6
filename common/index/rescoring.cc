#include "common/index/rescoring.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include "common/base/dtype.h"
#include "common/base/status_macros.h"
#include "common/index/nibble_codes.h"
#include "common/index/prefetch.h"
#include "common/index/row_scores.h"

namespace sightline {
namespace {

// Rows from which on it is known how far estimates are off, and those between two looks at it.
constexpr size_t kFirstRows = 32;
constexpr size_t kNextRows = 16;
// How much better than estimated a row may turn out, in errors of those before it.
constexpr double kErrors = 2;
// Rows of memory that are waited for while others are multiplied.
constexpr size_t kAhead = 3;

class Rescoring {
 public:
  Rescoring(const VectorView& vectors, const IvfQuery& query, std::vector<Estimate> candidates,
            int top_k, const CallContext& call)
      : vectors_(vectors),
        query_(query),
        candidates_(std::move(candidates)),
        top_k_(top_k),
        call_(call) {}

  absl::StatusOr<std::vector<Neighbor>> Run() {
    const size_t first = std::max(kFirstRows, static_cast<size_t>(top_k_));
    for (size_t begin = 0, end = first; begin < candidates_.size(); begin = end, end += kNextRows) {
      end = std::min(end, candidates_.size());
      PutInOrder(begin, end);
      if (begin > 0 && IsBeaten(candidates_[begin])) break;
      RETURN_IF_ERROR(Score(begin, end));
    }
    std::sort(best_.begin(), best_.end(), RanksBefore);
    return std::move(best_);
  }

 private:
  // Those that come next, of which there may be many more than it takes.
  void PutInOrder(size_t begin, size_t end) {
    const auto first = candidates_.begin() + static_cast<std::ptrdiff_t>(begin);
    const auto last = candidates_.begin() + static_cast<std::ptrdiff_t>(end);
    if (last != candidates_.end()) std::nth_element(first, last, candidates_.end());
    std::sort(first, last);
  }

  // Scores the candidates [begin, end).
  absl::Status Score(size_t begin, size_t end) {
    if (vectors_.on_disk()) {
      RETURN_IF_ERROR(ScoreFromDisk(begin, end));
    } else {
      RETURN_IF_ERROR(call_.Check("index search"));
      for (size_t i = begin; i < end; ++i) {
        if (i == begin) {
          for (size_t j = i; j < std::min(i + kAhead, end); ++j) Prefetch(candidates_[j].row);
        }
        if (i + kAhead < end) Prefetch(candidates_[i + kAhead].row);
        Note(candidates_[i], RowScore(vectors_, query_.numbers, candidates_[i].row));
      }
    }
    KeepBest();
    return absl::OkStatus();
  }

  absl::Status ScoreFromDisk(size_t begin, size_t end) {
    std::vector<Estimate> some(candidates_.begin() + begin, candidates_.begin() + end);
    std::sort(some.begin(), some.end(),
              [](const Estimate& a, const Estimate& b) { return a.row < b.row; });
    std::vector<int64_t> rows;
    for (const Estimate& candidate : some) rows.push_back(candidate.row);
    std::vector<float> scores(rows.size());
    RETURN_IF_ERROR(ScoreRows(vectors_, query_.numbers, rows, absl::MakeSpan(scores), call_));
    for (size_t i = 0; i < some.size(); ++i) Note(some[i], scores[i]);
    return absl::OkStatus();
  }

  void Prefetch(int64_t row) const {
    PrefetchBytes(vectors_.row(row),
                  vectors_.dimension * static_cast<int64_t>(DtypeSize(vectors_.dtype)));
  }

  void Note(const Estimate& candidate, float score) {
    if (std::isnan(score)) return;
    best_.push_back({candidate.row, score});
    if (candidate.value <= kLastOfAll.offset || !std::isfinite(score)) return;
    const double error = score - candidate.value * query_.length;
    squares_ += error * error;
    ++scored_;
  }

  void KeepBest() {
    if (best_.size() < static_cast<size_t>(top_k_)) return;
    std::nth_element(best_.begin(), best_.begin() + (top_k_ - 1), best_.end(), RanksBefore);
    best_.resize(top_k_);
    limit_ = best_.back().score;
  }

  bool IsBeaten(const Estimate& candidate) const {
    const double error = scored_ > 0 ? std::sqrt(squares_ / static_cast<double>(scored_)) : 0;
    return candidate.value * query_.length + kErrors * error < limit_;
  }

  const VectorView& vectors_;
  const IvfQuery& query_;
  std::vector<Estimate> candidates_;
  const int top_k_;
  const CallContext& call_;
  std::vector<Neighbor> best_;  // at most top_k after each look
  float limit_ = -std::numeric_limits<float>::infinity();
  double squares_ = 0;  // of errors of estimates
  int64_t scored_ = 0;
};

}  // namespace

absl::StatusOr<std::vector<Neighbor>> BestOfCandidates(const VectorView& vectors,
                                                       const IvfQuery& query,
                                                       std::vector<Estimate> candidates, int top_k,
                                                       const CallContext& call) {
  return Rescoring(vectors, query, std::move(candidates), top_k, call).Run();
}

}  // namespace sightline
