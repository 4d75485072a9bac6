// The second half of a search: the best candidates are scored together with the query,
// and the list is put in its final order.
#ifndef SIGHTLINE_COMMON_RETRIEVAL_RERANK_BLOCK_H_
#define SIGHTLINE_COMMON_RETRIEVAL_RERANK_BLOCK_H_

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "common/api/clients.h"
#include "common/api/generation.h"
#include "common/api/precision.h"
#include "common/api/search.h"
#include "common/base/call_context.h"
#include "common/embedding/candidate.h"
#include "common/embedding/score.h"
#include "common/retrieval/rerank_pace.h"
#include "common/retrieval/retriever.h"

namespace sightline {

struct BlockQuery {
  GenerationRef target;  // of the candidates and of the cross-encoder
  RerankSide side;
  bool is_text = true;
  std::string reranker;  // as in RerankRequest
  PrecisionWish wish;    // as in RerankSlices
};

struct BlockScores {
  // For each candidate the cross-encoder's score, if there is one.
  std::vector<absl::optional<RerankScore>> pairs;
  int wanted = 0;       // the first of them, each of which was known or was to be scored
  int scored = 0;       // of these
  Precision precision;  // of the scores that were not known
  RerankOutcome outcome = RerankOutcome::kFailed;
  std::vector<DegradedReason> degraded;
  std::vector<absl::Status> failures;
};

// Scores the first of `candidates` that are not `known`, as many as `share` has, against the query
// until `deadline`; `known` has a place for each candidate.  Never an error: what is not scored
// stays without a score, and `degraded` says why.
BlockScores ScoreBlock(RerankerClient& reranker, const BlockQuery& query,
                       absl::Span<const Candidate> candidates,
                       std::vector<absl::optional<RerankScore>> known,
                       const RetrieverOptions& options, const CallContext& call,
                       absl::Time deadline, RerankShare share);

// How many candidates a later page has to rerank to go on with this list: those that were scored,
// or, where one is missing among them, those that were to be.
int RerankedDepth(const BlockScores& scores);

// All candidates as hits, in the order of StandsBefore: those with a score first, by their
// combined score, then the others by their retrieval score.  `candidates` are consumed;
// `scores` belong to the first of them and may be fewer.
std::vector<Hit> OrderHits(std::vector<Candidate> candidates,
                           absl::Span<const absl::optional<RerankScore>> scores,
                           const Combination& combination);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_RETRIEVAL_RERANK_BLOCK_H_
