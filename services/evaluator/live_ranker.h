// Ranks by asking a fleet.
#ifndef SIGHTLINE_SERVICES_EVALUATOR_LIVE_RANKER_H_
#define SIGHTLINE_SERVICES_EVALUATOR_LIVE_RANKER_H_

#include <string>

#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "common/api/generation.h"
#include "common/api/search.h"
#include "common/clients/search_client.h"
#include "common/evaluation/evaluation_store.h"
#include "common/evaluation/ranker.h"

namespace sightline {

struct LiveRankerOptions {
  // What the fleet has to serve; answers of another generation are an error.
  GenerationRef images;
  GenerationRef captions;
  std::string image_reranker;  // that reranks pictures; empty: the default one
  std::string caption_reranker;
  // What the fleet has to compute in, as Precisions told it; none: in anything.
  absl::optional<StorePrecisions> precisions;
  EffortWish effort;  // how hard the fleet is to look
  int parallel = 4;   // requests under way at once
  absl::Duration timeout = absl::Seconds(30);
  // How often one request is made in all, if the fleet is busy or answers with less than
  // was asked.
  int attempts = 3;
};

// One SearchItems for each query and method.
class LiveRanker : public Ranker {
 public:
  // `client` outlives the ranker.
  LiveRanker(SearchClient* client, const LiveRankerOptions& options)
      : client_(client), options_(options) {}

  int batch_size() const override { return 16 * options_.parallel; }

  // FailedPrecondition if the fleet serves another generation, cannot rerank what is to be
  // reranked, or computes in another precision than is expected; Unavailable if an answer stayed
  // degraded; else the fleet's error.
  absl::StatusOr<Rankings> Rank(const RankRequest& request, const CallContext& call) override;

  // What the fleet computes the one query of `request` in, written over `precisions`; what it
  // does not compute, or does not tell, stays.  The errors of Rank.
  absl::Status Precisions(const RankRequest& request, const CallContext& call,
                          StorePrecisions* precisions);

 private:
  SearchRequest RequestFor(const RankRequest& request, const EvaluationQuery& query,
                           const Method& method) const;
  absl::StatusOr<SearchResult> Ask(const SearchRequest& search, Direction direction,
                                   const CallContext& call) const;
  absl::Status CheckPrecisions(const SearchResult& result, Direction direction) const;

  SearchClient* const client_;
  const LiveRankerOptions options_;
};

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_EVALUATOR_LIVE_RANKER_H_
