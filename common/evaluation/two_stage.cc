#include "common/evaluation/two_stage.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace sightline {
namespace {

bool Contains(absl::Span<const int> places, int place) {
  return std::find(places.begin(), places.end(), place) != places.end();
}

}  // namespace

TwoStageRow::TwoStageRow(absl::Span<const float> retrieval, int depth) : retrieval_(retrieval) {
  best_.resize(retrieval.size());
  std::iota(best_.begin(), best_.end(), 0);
  const size_t kept = std::min<size_t>(depth, best_.size());
  std::partial_sort(best_.begin(), best_.begin() + kept, best_.end(), [retrieval](int a, int b) {
    return retrieval[a] != retrieval[b] ? retrieval[a] > retrieval[b] : a < b;
  });
  best_.resize(kept);
}

std::vector<TieGroup> TwoStageRow::Rank(const Method& method, absl::Span<const RerankScore> rerank,
                                        absl::Span<const int> relevant, TieRule ties) const {
  if (method.depth == 0) return RankRelevant(retrieval_, relevant, ties);
  const size_t depth = std::min<size_t>(method.depth, best_.size());
  const auto block = best().subspan(0, depth);
  std::vector<int> inside, behind;
  for (const int place : relevant) (Contains(block, place) ? inside : behind).push_back(place);
  std::vector<TieGroup> groups = RankBlock(method, rerank.subspan(0, depth), inside, ties);
  for (const TieGroup& group : RankRest(depth, behind, ties)) groups.push_back(group);
  return groups;
}

std::vector<TieGroup> TwoStageRow::RankBlock(const Method& method,
                                             absl::Span<const RerankScore> rerank,
                                             absl::Span<const int> relevant, TieRule ties) const {
  std::vector<float> retrieval;
  for (size_t i = 0; i < rerank.size(); ++i) retrieval.push_back(retrieval_[best_[i]]);
  const std::vector<float> combined = Combine(method.combination, retrieval, rerank);
  // By candidate, which is the order that ties are in.
  std::vector<size_t> order(combined.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [this](size_t a, size_t b) { return best_[a] < best_[b]; });
  std::vector<float> scores;
  std::vector<int> places;
  for (const size_t i : order) {
    if (Contains(relevant, best_[i])) places.push_back(static_cast<int>(scores.size()));
    scores.push_back(combined[i]);
  }
  return RankRelevant(scores, places, ties);
}

std::vector<TieGroup> TwoStageRow::RankRest(size_t depth, absl::Span<const int> relevant,
                                            TieRule ties) const {
  if (relevant.empty()) return {};
  std::vector<bool> reranked(retrieval_.size());
  for (size_t i = 0; i < depth; ++i) reranked[best_[i]] = true;
  std::vector<float> scores;
  std::vector<int> new_places(retrieval_.size());
  for (size_t i = 0; i < retrieval_.size(); ++i) {
    new_places[i] = static_cast<int>(scores.size());
    if (!reranked[i]) scores.push_back(retrieval_[i]);
  }
  std::vector<int> places;
  for (const int place : relevant) places.push_back(new_places[place]);
  std::vector<TieGroup> groups = RankRelevant(scores, places, ties);
  for (TieGroup& group : groups) group.above += static_cast<int64_t>(depth);
  return groups;
}

}  // namespace sightline
