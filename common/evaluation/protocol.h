// The protocol: every query through every method, summed up.
//
//   ASSIGN_OR_RETURN(Measurement m, Measure(spec, relevance, &ranker, &pool, &progress, call));
#ifndef SIGHTLINE_COMMON_EVALUATION_PROTOCOL_H_
#define SIGHTLINE_COMMON_EVALUATION_PROTOCOL_H_

#include <array>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "common/base/call_context.h"
#include "common/base/compute_pool.h"
#include "common/dataset/splits.h"
#include "common/evaluation/bootstrap.h"
#include "common/evaluation/method.h"
#include "common/evaluation/metrics.h"
#include "common/evaluation/query.h"
#include "common/evaluation/ranker.h"
#include "common/evaluation/relevance.h"
#include "common/log/progress.h"

namespace sightline {

// Hits of a list that are looked at, where nothing else is asked for: MRR is MRR@50.
inline constexpr int kListLength = 50;
// Every recall has to be told by it.
inline constexpr int kMinListLength = kRecallCutoffs.back();

// Ranks of the first `most` hits that are right for `query`, from 1, in ascending order.
std::vector<int> RelevantRanks(Direction direction, const Relevance& relevance,
                               const EvaluationQuery& query, absl::Span<const Hit> hits,
                               int64_t most);
// That of the first one; 0 if none is.
int FirstRelevant(Direction direction, const Relevance& relevance, const EvaluationQuery& query,
                  absl::Span<const Hit> hits);

// Of their pictures, texts and what they look for, in order: equal for the same questions with the
// same right answers alone.
std::string QueriesSha256(absl::Span<const EvaluationQuery> queries);

struct MeasureSpec {
  Direction direction = Direction::kTextToImage;
  absl::optional<Split> split;  // that the queries are of; none: all there are
  std::vector<EvaluationQuery> queries;
  // The first is retrieval alone, which the others are compared with.
  std::vector<Method> methods = {Method()};
  int list_length = kListLength;  // kMinListLength to limits::kMaxHits
  BootstrapOptions bootstrap;
};

// One method minus another, over the same queries.
struct Gain {
  std::array<Interval, kRecallCutoffs.size()> recall;
  Interval mrr;
};

// First relevant hits of one method, and of another that it is compared with, in the order of the
// queries.
struct RankPair {
  absl::Span<const int> ranks;
  absl::Span<const int> reference;
};

// One for each pair, all by the same draws.  Pictures are drawn, with all of their queries, which
// have to stand together.
std::vector<Gain> GainsOf(absl::Span<const RankPair> pairs,
                          absl::Span<const EvaluationQuery> queries,
                          const BootstrapOptions& options, ComputePool* pool);

// Over what an earlier measurement found by a method.
struct EarlierGain {
  std::string name;
  int64_t depth = 0;
  Gain gain;
};

struct MethodResult {
  Method method;
  RetrievalMetrics metrics;
  absl::optional<Gain> gain;  // over retrieval alone, which has none
  // As RelevantRanks of all that is right, and FirstRelevant, in the order of the queries.
  std::vector<std::vector<int>> places;
  std::vector<int> ranks;
  std::vector<EarlierGain> over_earlier;
};

struct Measurement {
  Direction direction = Direction::kTextToImage;
  absl::optional<Split> split;
  std::vector<MethodResult> results;  // in the order of the methods
  std::string queries_sha256;

  // Null if it was not measured.
  const MethodResult* Find(const Method& method) const;
};

// Ranks with `ranker`, batch by batch, each advancing `progress`, which may be null.
// Errors are the ranker's; CANCELLED or DEADLINE_EXCEEDED when `call` ends.
absl::StatusOr<Measurement> Measure(const MeasureSpec& spec, const Relevance& relevance,
                                    Ranker* ranker, ComputePool* pool, Progress* progress,
                                    const CallContext& call);

// What a bundle should declare for one direction.
struct Choice {
  Direction direction = Direction::kTextToImage;
  absl::optional<Combination> combination;  // none: retrieval alone finds most
  double recall_at_1 = 0;                   // the means that it was chosen by
  double mrr = 0;
};

// Retrieval alone, or the combination with the highest mean R@1 over all `depths`; ties go
// to the higher mean MRR, then to the one that comes first.  FailedPrecondition if no
// combination was measured at every depth.
absl::StatusOr<Choice> ChooseCombination(const Measurement& measurement,
                                         absl::Span<const int> depths);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_EVALUATION_PROTOCOL_H_
