#include "common/index/rough_best.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/base/status_macros.h"

namespace sightline {
namespace {

// Rows that are scored at once where the bound asks for more: a reading of a disk each.
constexpr size_t kLeastMore = 16;

}  // namespace

RoughBest::RoughBest(int k, int64_t capacity)
    : k_(k),
      capacity_(std::max(capacity, Candidates::Capacity(k))),
      limit_(Candidates::Capacity(k)) {}

absl::Status RoughBest::MakeRoom(ExactScores exact) {
  DropBeaten();
  const auto left = static_cast<int64_t>(rows_.size());
  if (left > capacity_ / 2) {
    RETURN_IF_ERROR(Score(0, rows_.size(), exact));
    rows_.clear();
    KeepBest();
  }
  limit_ = std::clamp(2 * static_cast<int64_t>(rows_.size()), Candidates::Capacity(k_), capacity_);
  return absl::OkStatus();
}

void RoughBest::Merge(RoughBest other) {
  floor_ = std::max(floor_, other.floor_);
  rows_.insert(rows_.end(), other.rows_.begin(), other.rows_.end());
  exact_.insert(exact_.end(), other.exact_.begin(), other.exact_.end());
}

absl::StatusOr<std::vector<Neighbor>> RoughBest::Take(ExactScores exact) {
  KeepBest();
  DropBeaten();
  // By what they may score at most: once the next one cannot be among the best, none can.
  std::sort(rows_.begin(), rows_.end(), [](const RoughNeighbor& a, const RoughNeighbor& b) {
    return a.most() != b.most() ? a.most() > b.most() : a.row < b.row;
  });
  for (size_t scored = 0; scored < rows_.size() && !(rows_[scored].most() < floor_);) {
    const size_t more = scored == 0 ? k_ : std::max(scored / 2, kLeastMore);
    size_t end = scored;
    while (end < rows_.size() && end < scored + more && !(rows_[end].most() < floor_)) ++end;
    RETURN_IF_ERROR(Score(scored, end, exact));
    KeepBest();
    scored = end;
  }
  std::sort(exact_.begin(), exact_.end(), RanksBefore);
  return std::move(exact_);
}

void RoughBest::DropBeaten() {
  if (rows_.size() >= k_) {
    const auto last = rows_.begin() + static_cast<std::ptrdiff_t>(k_ - 1);
    std::nth_element(
        rows_.begin(), last, rows_.end(),
        [](const RoughNeighbor& a, const RoughNeighbor& b) { return a.least() > b.least(); });
    floor_ = std::max(floor_, last->least());
  }
  rows_.erase(std::remove_if(rows_.begin(), rows_.end(),
                             [this](const RoughNeighbor& row) { return row.most() < floor_; }),
              rows_.end());
}

absl::Status RoughBest::Score(size_t begin, size_t end, ExactScores exact) {
  std::vector<int64_t> rows;
  rows.reserve(end - begin);
  for (size_t i = begin; i < end; ++i) rows.push_back(rows_[i].row);
  std::sort(rows.begin(), rows.end());
  std::vector<float> scores(rows.size());
  RETURN_IF_ERROR(exact(rows, absl::MakeSpan(scores)));
  for (size_t i = 0; i < rows.size(); ++i) {
    if (!std::isnan(scores[i])) exact_.push_back({rows[i], scores[i]});
  }
  return absl::OkStatus();
}

void RoughBest::KeepBest() {
  if (exact_.size() < k_) return;
  const auto last = exact_.begin() + static_cast<std::ptrdiff_t>(k_ - 1);
  std::nth_element(exact_.begin(), last, exact_.end(), RanksBefore);
  floor_ = std::max(floor_, last->score);
  exact_.resize(k_);
}

}  // namespace sightline
