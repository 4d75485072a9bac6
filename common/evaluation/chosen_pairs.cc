#include "common/evaluation/chosen_pairs.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "common/base/status_macros.h"
#include "common/evaluation/two_stage.h"

namespace sightline {
namespace {

// Queries whose scores are in memory at once.
constexpr int64_t kQueriesAtOnce = 64;

// Adds the pairs of one direction of a pool.
absl::Status AddPairs(const NamedScores& retrieval, const EvaluationPool& pool, Direction direction,
                      int depth, ComputePool* threads, ChosenPairs* chosen) {
  const std::vector<int>& queries = pool.queries(direction);
  const std::vector<int>& candidates = pool.candidates(direction);
  for (size_t begin = 0; begin < queries.size(); begin += kQueriesAtOnce) {
    const auto block = absl::MakeConstSpan(queries).subspan(begin, kQueriesAtOnce);
    std::vector<float> scores(block.size() * candidates.size());
    RETURN_IF_ERROR(retrieval.Gather(direction, block, candidates, absl::MakeSpan(scores)));
    std::vector<std::vector<int>> best(block.size());
    threads->ParallelFor(static_cast<int64_t>(block.size()), 1, [&](int64_t first, int64_t last) {
      for (int64_t q = first; q < last; ++q) {
        const TwoStageRow row(absl::MakeConstSpan(scores).subspan(
                                  static_cast<size_t>(q) * candidates.size(), candidates.size()),
                              depth);
        best[q].assign(row.best().begin(), row.best().end());
      }
    });
    for (size_t q = 0; q < block.size(); ++q) {
      for (const int place : best[q]) {
        const bool of_text = direction == Direction::kTextToImage;
        const int image = of_text ? candidates[place] : block[q];
        (*chosen)[image].push_back(of_text ? block[q] : candidates[place]);
      }
    }
  }
  return absl::OkStatus();
}

void SortOut(ChosenPairs* chosen) {
  for (std::vector<int>& captions : *chosen) {
    std::sort(captions.begin(), captions.end());
    captions.erase(std::unique(captions.begin(), captions.end()), captions.end());
  }
}

}  // namespace

absl::StatusOr<ChosenPairs> ChoosePairs(const NamedScores& retrieval,
                                        absl::Span<const EvaluationPool> pools, int depth,
                                        ComputePool* threads) {
  ChosenPairs chosen(static_cast<size_t>(retrieval.images()));
  for (const EvaluationPool& pool : pools) {
    for (const Direction direction : {Direction::kTextToImage, Direction::kImageToText}) {
      RETURN_IF_ERROR(AddPairs(retrieval, pool, direction, depth, threads, &chosen));
    }
  }
  SortOut(&chosen);
  return chosen;
}

ChosenPairs PairsWithin(absl::Span<const EvaluationPool> pools, int64_t images) {
  ChosenPairs chosen(static_cast<size_t>(images));
  const auto add = [&chosen](const std::vector<int>& to, const std::vector<int>& captions) {
    for (const int image : to) {
      chosen[image].insert(chosen[image].end(), captions.begin(), captions.end());
    }
  };
  for (const EvaluationPool& pool : pools) {
    add(pool.images, pool.caption_queries);
    add(pool.image_queries, pool.captions);
  }
  SortOut(&chosen);
  return chosen;
}

}  // namespace sightline
