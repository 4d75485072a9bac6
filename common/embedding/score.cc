#include "common/embedding/score.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <string>

#include "absl/strings/str_cat.h"

namespace sightline {
namespace {

template <typename Kind>
struct Named {
  Kind kind;
  absl::string_view name;
};

constexpr Named<ScoreKind> kScoreKinds[] = {
    {ScoreKind::kRankRaw, "rank_raw"},
    {ScoreKind::kSoftmaxMatch, "softmax_match"},
    {ScoreKind::kLogitMatch, "logit_match"},
    {ScoreKind::kSigmoid, "sigmoid"},
};

constexpr Named<CombinationKind> kCombinationKinds[] = {
    {CombinationKind::kReplace, "replace"},
    {CombinationKind::kAddLambda, "add_lambda"},
    {CombinationKind::kNormAddLambda, "norm_add_lambda"},
};

template <typename Kind, size_t n>
absl::string_view NameOf(const Named<Kind> (&table)[n], Kind kind) {
  for (const auto& entry : table) {
    if (entry.kind == kind) return entry.name;
  }
  return "unknown";
}

template <typename Kind, size_t n>
absl::StatusOr<Kind> Parse(const Named<Kind> (&table)[n], absl::string_view what,
                           absl::string_view name) {
  std::string known;
  for (const auto& entry : table) {
    if (entry.name == name) return entry.kind;
    absl::StrAppend(&known, known.empty() ? "" : ", ", entry.name);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("unknown ", what, " \"", name, "\"; it is one of ", known));
}

// In double no float's exponential overflows, and rounding cannot reverse an order.
float Sigmoid(float x) {
  return static_cast<float>(1 / (1 + std::exp(-static_cast<double>(x))));
}

// (x - min) / (max - min), all zero when max equals min.
std::vector<float> MinMaxNormalized(absl::Span<const float> values) {
  std::vector<float> normalized(values.size(), 0.0f);
  if (values.empty()) return normalized;
  const auto [min, max] = std::minmax_element(values.begin(), values.end());
  // In double the range of two floats cannot overflow.
  const double low = *min;
  const double range = static_cast<double>(*max) - low;
  if (range == 0) return normalized;
  for (size_t i = 0; i < values.size(); ++i) {
    normalized[i] = static_cast<float>((values[i] - low) / range);
  }
  return normalized;
}

bool IsUnbounded(ScoreKind kind) {
  return kind == ScoreKind::kRankRaw || kind == ScoreKind::kLogitMatch;
}

// In double, where no multiple overflows; 0 is added to make -0 the 0 that it equals.
float OnGrid(float raw) {
  const double steps = std::nearbyint(static_cast<double>(raw) / kRawScoreGrid);
  return static_cast<float>(steps * kRawScoreGrid + 0.0);
}

std::vector<float> AddLambda(float lambda, absl::Span<const float> retrieval,
                             absl::Span<const float> probability) {
  std::vector<float> combined(probability.size());
  for (size_t i = 0; i < combined.size(); ++i) {
    combined[i] = lambda * retrieval[i] + (1 - lambda) * probability[i];
  }
  return combined;
}

}  // namespace

absl::string_view ScoreKindName(ScoreKind kind) {
  return NameOf(kScoreKinds, kind);
}

absl::StatusOr<ScoreKind> ParseScoreKind(absl::string_view name) {
  return Parse(kScoreKinds, "score kind", name);
}

float ToProbability(ScoreKind kind, float raw) {
  if (IsUnbounded(kind)) return Sigmoid(raw);
  // Rounding may carry a softmax just past one; a NaN passes through.
  return std::clamp(raw, 0.0f, 1.0f);
}

RerankScore ToRerankScore(ScoreKind kind, float raw) {
  const float probability = ToProbability(kind, raw);
  return {probability, IsUnbounded(kind) ? OnGrid(raw) : probability};
}

absl::string_view CombinationKindName(CombinationKind kind) {
  return NameOf(kCombinationKinds, kind);
}

absl::StatusOr<CombinationKind> ParseCombinationKind(absl::string_view name) {
  return Parse(kCombinationKinds, "combination", name);
}

absl::Status Validate(const Combination& combination) {
  // Negated, so that NaN is refused.
  if (!(combination.lambda >= 0 && combination.lambda <= 1)) {
    return absl::InvalidArgumentError(absl::StrCat("lambda is ", combination.lambda,
                                                   "; the weight of the retrieval score must lie "
                                                   "between 0 and 1"));
  }
  return absl::OkStatus();
}

bool SameCombination(const Combination& a, const Combination& b) {
  return a.kind == b.kind && (a.kind == CombinationKind::kReplace || a.lambda == b.lambda);
}

std::string CombinationText(const Combination& combination) {
  const absl::string_view name = CombinationKindName(combination.kind);
  if (combination.kind == CombinationKind::kReplace) return std::string(name);
  return absl::StrCat(name, ":", combination.lambda);
}

std::vector<float> Combine(const Combination& combination, absl::Span<const float> retrieval,
                           absl::Span<const RerankScore> rerank) {
  assert(retrieval.size() == rerank.size());
  std::vector<float> scores;
  scores.reserve(rerank.size());
  const bool alone = combination.kind == CombinationKind::kReplace;
  for (const RerankScore& score : rerank) {
    scores.push_back(alone ? score.alone : score.probability);
  }
  switch (combination.kind) {
    case CombinationKind::kAddLambda:
      return AddLambda(combination.lambda, retrieval, scores);
    case CombinationKind::kNormAddLambda:
      return AddLambda(combination.lambda, MinMaxNormalized(retrieval), MinMaxNormalized(scores));
    case CombinationKind::kReplace:
      break;
  }
  return scores;
}

float GridOf(const Combination& combination, ScoreKind kind) {
  return combination.kind == CombinationKind::kReplace && IsUnbounded(kind) ? kRawScoreGrid : 0;
}

}  // namespace sightline
