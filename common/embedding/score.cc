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
  switch (kind) {
    case ScoreKind::kRankRaw:
    case ScoreKind::kLogitMatch:
      return Sigmoid(raw);
    case ScoreKind::kSoftmaxMatch:
    case ScoreKind::kSigmoid:
      break;
  }
  // Rounding may carry a softmax just past one; a NaN passes through.
  return std::clamp(raw, 0.0f, 1.0f);
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

std::vector<float> Combine(const Combination& combination, absl::Span<const float> retrieval,
                           absl::Span<const float> probability) {
  assert(retrieval.size() == probability.size());
  switch (combination.kind) {
    case CombinationKind::kAddLambda:
      return AddLambda(combination.lambda, retrieval, probability);
    case CombinationKind::kNormAddLambda:
      return AddLambda(combination.lambda, MinMaxNormalized(retrieval),
                       MinMaxNormalized(probability));
    case CombinationKind::kReplace:
      break;
  }
  return std::vector<float>(probability.begin(), probability.end());
}

}  // namespace sightline
