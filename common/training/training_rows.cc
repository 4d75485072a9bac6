#include "common/training/training_rows.h"

#include <algorithm>
#include <iterator>
#include <unordered_map>

namespace sightline {
namespace {

using RowsByNumber = std::unordered_map<int64_t, std::vector<int64_t>>;

// Adds the rows of each bucket to each other's lists.
void Relate(const RowsByNumber& buckets, std::vector<std::vector<int64_t>>* relatives) {
  for (const auto& bucket : buckets) {
    for (const int64_t row : bucket.second) {
      for (const int64_t other : bucket.second) {
        if (other != row) (*relatives)[row].push_back(other);
      }
    }
  }
}

}  // namespace

TrainingRows::TrainingRows(const TrainingSet& set, bool with_validation)
    : captioned_(set.CaptionedRows(with_validation)),
      captioned_index_(set.row_count(), -1),
      relatives_(set.row_count()) {
  const std::vector<int64_t> distractors = set.DistractorRows(with_validation);
  std::merge(captioned_.begin(), captioned_.end(), distractors.begin(), distractors.end(),
             std::back_inserter(pictured_));
  for (size_t i = 0; i < captioned_.size(); ++i) {
    captioned_index_[captioned_[i]] = static_cast<int64_t>(i);
  }
  FindRelatives(set);
}

bool TrainingRows::Related(int64_t row, int64_t other) const {
  return row == other || std::binary_search(relatives_[row].begin(), relatives_[row].end(), other);
}

void TrainingRows::FindRelatives(const TrainingSet& set) {
  RowsByNumber by_key, by_picture;
  for (const int64_t row : pictured_) {
    by_picture[set.picture_key(row)].push_back(row);
    for (const int64_t caption : set.captions(row)) {
      std::vector<int64_t>& rows = by_key[set.caption_key(caption)];
      if (rows.empty() || rows.back() != row) rows.push_back(row);
    }
  }
  Relate(by_key, &relatives_);
  Relate(by_picture, &relatives_);
  for (std::vector<int64_t>& list : relatives_) {
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
  }
}

}  // namespace sightline
