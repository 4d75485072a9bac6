// Ranks by asking a fleet.
#ifndef SIGHTLINE_SERVICES_EVALUATOR_LIVE_RANKER_H_
#define SIGHTLINE_SERVICES_EVALUATOR_LIVE_RANKER_H_

#include <string>

#include "absl/time/time.h"
#include "common/api/generation.h"
#include "common/api/search.h"
#include "common/clients/search_client.h"
#include "common/evaluation/ranker.h"

namespace sightline {

struct LiveRankerOptions {
  // What the fleet has to serve; answers of another generation are an error.
  GenerationRef images;
  GenerationRef captions;
  std::string image_reranker;  // that reranks pictures; empty: the default one
  std::string caption_reranker;
  int parallel = 4;  // requests under way at once
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

  // FailedPrecondition if the fleet serves another generation, or cannot rerank what is
  // to be reranked; Unavailable if an answer stayed degraded; else the fleet's error.
  absl::StatusOr<Rankings> Rank(const RankRequest& request, const CallContext& call) override;

 private:
  SearchRequest RequestFor(const RankRequest& request, const EvaluationQuery& query,
                           const Method& method) const;
  absl::StatusOr<std::vector<Hit>> Ask(const SearchRequest& search, const GenerationRef& expected,
                                       const CallContext& call) const;

  SearchClient* const client_;
  const LiveRankerOptions options_;
};

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_EVALUATOR_LIVE_RANKER_H_
