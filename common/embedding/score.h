// Scores of cross-encoders, and how they join the scores of retrieval.
//
// Source of the combinations: "Retrieve Fast, Rerank Smart" (Geigle et al., 2022), and
// its code for which of the two scores lambda weighs.
#ifndef SIGHTLINE_COMMON_EMBEDDING_SCORE_H_
#define SIGHTLINE_COMMON_EMBEDDING_SCORE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace sightline {

// What a cross-encoder's raw number is.
enum class ScoreKind {
  kRankRaw,       // unbounded; the sigmoid maps it to [0, 1]
  kSoftmaxMatch,  // probability of "match", already in [0, 1]
  kLogitMatch,    // logit of "match" alone; the sigmoid maps it to [0, 1]
  kSigmoid,       // a sigmoid's output, already in [0, 1]
};

// "rank_raw", "softmax_match", "logit_match", "sigmoid".
absl::string_view ScoreKindName(ScoreKind kind);
absl::StatusOr<ScoreKind> ParseScoreKind(absl::string_view name);

// Maps a raw score to [0, 1], never reversing an order; raw scores beyond about 17 all
// round to 1.  NaN stays NaN.
float ToProbability(ScoreKind kind, float raw);

// The grid that unbounded raw scores are reported on.  Sums that are formed in another
// order, as in another batch, differ by some 1e-6, a thousandth of it: equal pairs get equal
// numbers but once in hundreds.  Beyond 10 it tells more apart than the probability, whose
// floats lie further apart there.  Odds that differ by less than a thousandth count as equal.
inline constexpr float kRawScoreGrid = 1.0f / 1024;

// What a cross-encoder says of a pair.
struct RerankScore {
  float probability = 0;  // ToProbability of the raw score
  // What is reported where nothing else decides (kReplace): an unbounded raw score, rounded
  // to the nearest multiple of kRawScoreGrid, or a probability as it is.
  float alone = 0;
};
RerankScore ToRerankScore(ScoreKind kind, float raw);

// How the reranked block is ordered.
enum class CombinationKind {
  kReplace,        // by the cross-encoder alone (RerankScore::alone)
  kAddLambda,      // lambda * e + (1 - lambda) * c
  kNormAddLambda,  // the same after min-max normalising e and c over the block
};

struct Combination {
  CombinationKind kind = CombinationKind::kReplace;
  // Weight of the retrieval score, in [0, 1]; kReplace ignores it.
  float lambda = 0;
};

// What a cross-encoder's bundle declares for one direction, text to image or image to text.
struct DeclaredCombination {
  Combination combination;  // unless a request names another
  // Whether requests that do not ask to be reranked are.  Not so ("none") where reranking
  // finds less than retrieval alone.
  bool by_default = true;
};

// "replace", "add_lambda", "norm_add_lambda".
absl::string_view CombinationKindName(CombinationKind kind);
absl::StatusOr<CombinationKind> ParseCombinationKind(absl::string_view name);

// InvalidArgument unless lambda is finite and in [0, 1].
absl::Status Validate(const Combination& combination);

// Lambda counts only where it is used.
bool SameCombination(const Combination& a, const Combination& b);

// "replace", "add_lambda:0.3": as `sightlinectl query --combination` takes it.
std::string CombinationText(const Combination& combination);

// Combined scores of one query's reranked block: what is reported, and what the block is
// ordered by.  `retrieval` are bi-encoder scores (e), `rerank` has the cross-encoder's, of
// which the sums take the probability (c); equally long and finite.  Normalisation maps a
// block whose scores are all equal to 0.  Higher is better.
std::vector<float> Combine(const Combination& combination, absl::Span<const float> retrieval,
                           absl::Span<const RerankScore> rerank);

// How far apart neighbouring values of a combined score are; 0: as far as floats.
float GridOf(const Combination& combination, ScoreKind kind);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_EMBEDDING_SCORE_H_
