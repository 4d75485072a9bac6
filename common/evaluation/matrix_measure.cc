#include "common/evaluation/matrix_measure.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "common/base/status_macros.h"
#include "common/evaluation/two_stage.h"

namespace sightline {
namespace {

// Queries whose scores are gathered at once: a column's neighbours lie in the same cache line.
constexpr size_t kBlock = 16;
// A probability may be past 0 or 1 by so much, for rounding.
constexpr float kRounding = 1e-3f;

// Whether the raw score can be one of the kind.
bool IsOf(ScoreKind kind, float raw) {
  if (!std::isfinite(raw)) return false;
  const bool unbounded = kind == ScoreKind::kRankRaw || kind == ScoreKind::kLogitMatch;
  return unbounded || (raw >= -kRounding && raw <= 1 + kRounding);
}

class PoolMeasure {
 public:
  PoolMeasure(const MatrixPolicy& policy, Direction direction, const EvaluationPool& pool,
              const MatrixItems& items, const MatrixMeasureOptions& options)
      : policy_(policy),
        direction_(direction),
        options_(options),
        queries_(pool.queries(direction)),
        candidates_(pool.candidates(direction)),
        relevant_(RelevantPlaces(direction, pool, items)),
        measures_(policy.methods.size(), std::vector<QueryMeasures>(queries_.size())) {
    for (const Method& method : policy.methods) depth_ = std::max(depth_, method.depth);
    if (policy.rerank == nullptr) depth_ = 0;
  }

  absl::StatusOr<std::vector<std::vector<QueryMeasures>>> Run(ComputePool* threads) && {
    const auto blocks = static_cast<int64_t>((queries_.size() + kBlock - 1) / kBlock);
    std::vector<absl::Status> ended(blocks);
    threads->ParallelFor(blocks, /*grain=*/1, [&](int64_t begin, int64_t end) {
      std::vector<float> gathered(kBlock * candidates_.size());
      for (int64_t block = begin; block < end; ++block) {
        ended[block] = MeasureBlock(block * kBlock, absl::MakeSpan(gathered));
      }
    });
    for (const absl::Status& status : ended) RETURN_IF_ERROR(status);
    return std::move(measures_);
  }

 private:
  absl::Status MeasureBlock(size_t first, absl::Span<float> gathered) {
    const auto some = queries_.subspan(first, kBlock);
    const auto rows = gathered.subspan(0, some.size() * candidates_.size());
    RETURN_IF_ERROR(policy_.retrieval->Gather(direction_, some, candidates_, rows));
    for (size_t q = 0; q < some.size(); ++q) {
      const auto row = rows.subspan(q * candidates_.size(), candidates_.size());
      RETURN_IF_ERROR(MeasureOne(first + q, row));
    }
    return absl::OkStatus();
  }

  absl::Status MeasureOne(size_t query, absl::Span<const float> retrieval) {
    const TwoStageRow row(retrieval, depth_);
    ASSIGN_OR_RETURN(const std::vector<RerankScore> rerank,
                     Rerank(queries_[query], row, retrieval));
    for (size_t m = 0; m < measures_.size(); ++m) {
      Method method = policy_.methods[m];
      if (policy_.rerank == nullptr) method.depth = 0;
      const auto groups = row.Rank(method, rerank, relevant_[query], options_.ties);
      measures_[m][query] = MeasureQuery(groups, options_.ndcg_cutoff);
    }
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<RerankScore>> Rerank(int query, const TwoStageRow& row,
                                                  absl::Span<const float> retrieval) const {
    std::vector<RerankScore> scores;
    for (const int place : row.best()) {
      const bool to_image = direction_ == Direction::kTextToImage;
      const int image = to_image ? candidates_[place] : query;
      const int caption = to_image ? query : candidates_[place];
      const float raw = policy_.rerank->at(image, caption);
      if (!std::isfinite(retrieval[place])) {
        return Refused(*policy_.retrieval, retrieval[place], image, caption, "not finite");
      }
      if (!IsOf(policy_.rerank_kind, raw)) {
        // Whoever has made the matrix by `scores` may have asked it for others.
        return Refused(
            *policy_.rerank, raw, image, caption,
            absl::StrCat("no ", ScoreKindName(policy_.rerank_kind),
                         std::isnan(raw) ? " (scores takes --depth and --languages-apart)"
                                         : " (--rerank-scores says what these scores are)"));
      }
      scores.push_back(ToRerankScore(policy_.rerank_kind, raw));
    }
    return scores;
  }

  absl::Status Refused(const NamedScores& scores, float score, int row, int column,
                       const std::string& why) const {
    return absl::InvalidArgumentError(
        absl::StrCat("'", scores.name(), "' is ", score, " at row ", row, ", column ", column,
                     " (from 0), which is ", why, "; the pair is among the best ", depth_, " of '",
                     policy_.retrieval->name(), "', which are reranked"));
  }

  const MatrixPolicy& policy_;
  const Direction direction_;
  const MatrixMeasureOptions& options_;
  const absl::Span<const int> queries_;
  const absl::Span<const int> candidates_;
  const std::vector<std::vector<int>> relevant_;
  int depth_ = 0;                                     // the largest
  std::vector<std::vector<QueryMeasures>> measures_;  // [method][query]
};

}  // namespace

std::vector<std::vector<int>> RelevantPlaces(Direction direction, const EvaluationPool& pool,
                                             const MatrixItems& items) {
  std::vector<std::vector<int>> places;
  if (direction == Direction::kTextToImage) {
    std::vector<int> place_of(items.images.size());
    for (size_t p = 0; p < pool.images.size(); ++p) place_of[pool.images[p]] = static_cast<int>(p);
    for (const int caption : pool.caption_queries) {
      places.push_back({place_of[items.captions[caption].image]});
    }
    return places;
  }
  std::vector<std::vector<int>> places_of(items.images.size());
  for (size_t p = 0; p < pool.captions.size(); ++p) {
    places_of[items.captions[pool.captions[p]].image].push_back(static_cast<int>(p));
  }
  for (const int image : pool.image_queries) places.push_back(places_of[image]);
  return places;
}

absl::StatusOr<std::vector<std::vector<QueryMeasures>>> MeasurePolicy(
    const MatrixPolicy& policy, Direction direction, const EvaluationPool& pool,
    const MatrixItems& items, const MatrixMeasureOptions& options, ComputePool* threads) {
  return PoolMeasure(policy, direction, pool, items, options).Run(threads);
}

}  // namespace sightline
