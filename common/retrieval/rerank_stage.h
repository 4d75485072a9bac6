// The rerank stage of a search: what is known of its candidates' scores, and the rest of them.
#ifndef SIGHTLINE_COMMON_RETRIEVAL_RERANK_STAGE_H_
#define SIGHTLINE_COMMON_RETRIEVAL_RERANK_STAGE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "common/api/clients.h"
#include "common/api/search.h"
#include "common/base/call_context.h"
#include "common/embedding/candidate.h"
#include "common/embedding/score.h"
#include "common/retrieval/rerank_pace.h"
#include "common/retrieval/retriever.h"
#include "common/retrieval/search_caches.h"
#include "common/retrieval/search_plan.h"

namespace sightline {

// What reranking needs beside the request and its plan.
struct RerankMeans {
  RerankerClient& reranker;
  const RetrieverOptions& options;
  RerankPaces& paces;
  ScoreCache* cache;  // null: scores are not kept
  const std::string& key;
  absl::Time deadline;
};

// Whether it ends the list that a page belongs to: nobody computes any more as for those before.
bool EndsPages(const SearchPlan& plan, const absl::Status& failure);

// Scores the first `plan.depth` candidates as far as time allows, and tells `result` how it went.
// All in one precision: the plan's, or of a first page another one where nobody of the plan's is
// there any more.  `reranked` becomes how many later pages have to rerank, if that is not what the
// plan says.  PageTokenExpired.
absl::StatusOr<std::vector<absl::optional<RerankScore>>> Rerank(
    const SearchRequest& request, const SearchPlan& plan, ResolvedQuery query,
    absl::Span<const Candidate> candidates, const RerankMeans& means, const CallContext& call,
    SearchResult& result, int& reranked);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_RETRIEVAL_RERANK_STAGE_H_
