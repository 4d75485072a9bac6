#include "common/evaluation/tie_groups.h"

#include <algorithm>
#include <cstddef>
#include <iterator>

namespace sightline {
namespace {

// A relevant candidate, or several that tie.
struct Mark {
  float score = 0;
  int place = 0;
  TieGroup group;
};

bool Precedes(float score, int place, const Mark& mark, TieRule ties) {
  if (score != mark.score) return score > mark.score;
  return ties == TieRule::kCandidateOrder && place < mark.place;
}

// Best first.
std::vector<Mark> MarksOf(absl::Span<const float> scores, absl::Span<const int> relevant,
                          TieRule ties) {
  std::vector<int> places(relevant.begin(), relevant.end());
  std::sort(places.begin(), places.end(), [scores](int a, int b) {
    return scores[a] != scores[b] ? scores[a] > scores[b] : a < b;
  });
  std::vector<Mark> marks;
  for (const int place : places) {
    const float score = scores[place];
    if (ties == TieRule::kExpectedRank && !marks.empty() && marks.back().score == score) {
      ++marks.back().group.relevant;
    } else {
      marks.push_back({score, place, {0, ties == TieRule::kExpectedRank ? 0 : 1, 1}});
    }
  }
  return marks;
}

}  // namespace

std::vector<TieGroup> RankRelevant(absl::Span<const float> scores, absl::Span<const int> relevant,
                                   TieRule ties) {
  std::vector<Mark> marks = MarksOf(scores, relevant, ties);
  if (marks.empty()) return {};
  for (size_t i = 0; i < scores.size(); ++i) {
    const float score = scores[i];
    if (score < marks.back().score) continue;  // most of them
    const auto place = static_cast<int>(i);
    const auto behind = std::partition_point(marks.begin(), marks.end(), [&](const Mark& mark) {
      return !Precedes(score, place, mark, ties);
    });
    if (behind != marks.end()) ++behind->group.above;
    const bool may_tie = ties == TieRule::kExpectedRank && behind != marks.begin();
    if (may_tie && std::prev(behind)->score == score) ++std::prev(behind)->group.tied;
  }
  // What stands before a mark stands before all that follow.
  std::vector<TieGroup> groups;
  groups.reserve(marks.size());
  int64_t above = 0;
  for (const Mark& mark : marks) {
    groups.push_back(mark.group);
    groups.back().above = above += mark.group.above;
  }
  return groups;
}

}  // namespace sightline
