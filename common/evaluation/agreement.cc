#include "common/evaluation/agreement.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <unordered_map>

#include "absl/strings/str_cat.h"

namespace sightline {
namespace {

using HitsById = std::unordered_map<std::string, const Hit*>;

bool WithinTolerance(float a, float b, float grid = 0) {
  return ScoreDifference(a, b, grid) <= kScoreTolerance;
}

HitsById ById(absl::Span<const Hit> hits) {
  HitsById by_id;
  for (const Hit& hit : hits) by_id.emplace(hit.item_id, &hit);
  return by_id;
}

const Hit* FindIn(const HitsById& hits, const std::string& id) {
  const auto found = hits.find(id);
  return found == hits.end() ? nullptr : found->second;
}

bool IsReranked(const Hit* hit) {
  return hit != nullptr && hit->stage == HitStage::kReranked;
}

// The retrieval score at which reranking ended.
float LowestReranked(absl::Span<const Hit> hits) {
  float lowest = std::numeric_limits<float>::infinity();
  for (const Hit& hit : hits) {
    if (IsReranked(&hit)) lowest = std::min(lowest, hit.retrieval_score);
  }
  return lowest;
}

class Comparison {
 public:
  Comparison(absl::Span<const Hit> expected, absl::Span<const Hit> actual, float grid)
      : expected_(expected),
        actual_(actual),
        grid_(grid),
        expected_by_id_(ById(expected)),
        actual_by_id_(ById(actual)) {}

  Agreement Run() {
    result_.lists = 1;
    result_.hits = static_cast<int64_t>(actual_.size());
    if (expected_.size() != actual_.size()) {
      Problem(absl::StrCat("has ", actual_.size(), " hits, not ", expected_.size()));
    }
    const bool boundary = BlocksDiffer();
    CompareScores(/*combined=*/!boundary);
    const bool moved = !boundary && ComparePlaces();
    if (!result_.first_problem.empty()) {
      result_.differing_lists = 1;
    } else if (boundary) {
      result_.boundary_lists = 1;
    } else {
      (moved ? result_.tied_lists : result_.equal_lists) = 1;
    }
    return result_;
  }

 private:
  void Problem(const std::string& problem) {
    if (result_.first_problem.empty()) result_.first_problem = problem;
  }

  // Whether the two reranked other candidates; a problem unless these tie.
  bool BlocksDiffer() {
    bool differ = OneSidedBlock(expected_, actual_by_id_, "is not reranked");
    differ = OneSidedBlock(actual_, expected_by_id_, "should not be reranked") || differ;
    return differ;
  }

  bool OneSidedBlock(absl::Span<const Hit> hits, const HitsById& other, absl::string_view what) {
    bool differ = false;
    for (const Hit& hit : hits) {
      if (!IsReranked(&hit) || IsReranked(FindIn(other, hit.item_id))) continue;
      differ = true;
      if (!WithinTolerance(LowestReranked(expected_), hit.retrieval_score)) {
        Problem(absl::StrCat("'", hit.item_id, "' ", what));
      }
    }
    return differ;
  }

  void CompareScores(bool combined) {
    for (const Hit& actual : actual_) {
      const Hit* const expected = FindIn(expected_by_id_, actual.item_id);
      if (expected == nullptr) continue;
      CompareScore(actual, "retrieval score", expected->retrieval_score, actual.retrieval_score,
                   &result_.retrieval_difference);
      if (IsReranked(expected) != IsReranked(&actual)) continue;
      if (expected->rerank_score.has_value() && actual.rerank_score.has_value()) {
        CompareScore(actual, "rerank score", *expected->rerank_score, *actual.rerank_score,
                     &result_.rerank_difference);
      }
      if (combined) {
        CompareScore(actual, "score", expected->score, actual.score, &result_.combined_difference,
                     IsReranked(&actual) ? grid_ : 0);
      }
    }
  }

  void CompareScore(const Hit& hit, absl::string_view what, float expected, float actual,
                    double* largest, float grid = 0) {
    const double difference = ScoreDifference(expected, actual, grid);
    *largest = std::max(*largest, difference);
    if (difference <= kScoreTolerance) return;
    Problem(absl::StrCat("'", hit.item_id, "' has ", what, " ", actual, ", not ", expected));
  }

  // Whether anything changed places; a problem unless what did ties.
  bool ComparePlaces() {
    bool moved = false;
    const size_t count = std::min(expected_.size(), actual_.size());
    for (size_t i = 0; i < count; ++i) {
      const Hit& expected = expected_[i];
      const Hit& actual = actual_[i];
      if (expected.item_id == actual.item_id) continue;
      moved = true;
      // An item that only one list has can be a tie at its end.
      const Hit* const same = FindIn(expected_by_id_, actual.item_id);
      const float score = same == nullptr ? actual.score : same->score;
      const float grid = IsReranked(&expected) ? grid_ : 0;
      if (expected.stage != actual.stage || !WithinTolerance(expected.score, score, grid)) {
        Problem(absl::StrCat("'", actual.item_id, "' is at place ", i + 1, ", where '",
                             expected.item_id, "' belongs"));
      }
    }
    return moved;
  }

  const absl::Span<const Hit> expected_;
  const absl::Span<const Hit> actual_;
  const float grid_;
  const HitsById expected_by_id_;
  const HitsById actual_by_id_;
  Agreement result_;
};

}  // namespace

double ScoreDifference(float a, float b, float grid) {
  const double difference = std::abs(static_cast<double>(a) - b);
  // A number that is none differs from everything.
  if (std::isnan(difference)) return std::numeric_limits<double>::infinity();
  return std::max(difference - grid, 0.0) / std::max(1.0, std::abs(static_cast<double>(a)));
}

void Agreement::Add(const Agreement& other) {
  lists += other.lists;
  hits += other.hits;
  equal_lists += other.equal_lists;
  tied_lists += other.tied_lists;
  boundary_lists += other.boundary_lists;
  differing_lists += other.differing_lists;
  retrieval_difference = std::max(retrieval_difference, other.retrieval_difference);
  rerank_difference = std::max(rerank_difference, other.rerank_difference);
  combined_difference = std::max(combined_difference, other.combined_difference);
  if (first_problem.empty()) first_problem = other.first_problem;
}

Agreement CompareHits(absl::Span<const Hit> expected, absl::Span<const Hit> actual, float grid) {
  return Comparison(expected, actual, grid).Run();
}

}  // namespace sightline
