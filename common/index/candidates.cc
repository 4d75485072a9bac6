#include "common/index/candidates.h"

#include <algorithm>
#include <limits>

namespace sightline {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr size_t kFirstRows = 16;

// The order of a list, of exact scores.
bool ScoresHigher(const RoughNeighbor& a, const RoughNeighbor& b) {
  return a.score != b.score ? a.score > b.score : a.row < b.row;
}

}  // namespace

float Candidates::Add(const RoughNeighbor& row, ExactScore exact) {
  const auto capacity = static_cast<size_t>(Capacity(k_));
  // As a vector would grow, which knows no bound.
  if (rows_.size() == rows_.capacity()) {
    rows_.reserve(std::min(std::max<size_t>(2 * rows_.size(), kFirstRows), capacity));
  }
  rows_.push_back(row);
  if (rows_.size() < capacity) return -kInfinity;
  const float floor = DropBeaten();
  // Scores too close to tell apart, as of many equal rows.
  const int64_t most_left = (k_ + Capacity(k_)) / 2;
  if (static_cast<int64_t>(rows_.size()) <= most_left) return floor;
  Settle(exact);
  return rows_.back().score;
}

void Candidates::Add(Candidates others) {
  rows_.reserve(rows_.size() + others.rows_.size());
  rows_.insert(rows_.end(), others.rows_.begin(), others.rows_.end());
}

float Candidates::DropBeaten() {
  if (rows_.size() < static_cast<size_t>(k_)) return -kInfinity;
  const auto last = rows_.begin() + (k_ - 1);
  std::nth_element(
      rows_.begin(), last, rows_.end(),
      [](const RoughNeighbor& a, const RoughNeighbor& b) { return a.least() > b.least(); });
  const float floor = last->least();
  rows_.erase(std::remove_if(rows_.begin(), rows_.end(),
                             [floor](const RoughNeighbor& row) { return row.most() < floor; }),
              rows_.end());
  return floor;
}

void Candidates::Settle(ExactScore exact) {
  for (RoughNeighbor& row : rows_) {
    if (row.error != 0) row = {row.row, exact(row.row), 0};
  }
  if (rows_.size() > static_cast<size_t>(k_)) {
    std::nth_element(rows_.begin(), rows_.begin() + k_, rows_.end(), ScoresHigher);
    rows_.resize(k_);
  }
  std::sort(rows_.begin(), rows_.end(), ScoresHigher);
}

std::vector<Neighbor> Candidates::Take(ExactScore exact) {
  DropBeaten();
  Settle(exact);
  std::vector<Neighbor> best;
  best.reserve(rows_.size());
  for (const RoughNeighbor& row : rows_) best.push_back({row.row, row.score});
  return best;
}

}  // namespace sightline
