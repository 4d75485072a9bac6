// Search over gRPC: message in, Retriever, message out.
#ifndef SIGHTLINE_SERVICES_ROUTER_ROUTER_SERVICE_H_
#define SIGHTLINE_SERVICES_ROUTER_ROUTER_SERVICE_H_

#include <map>
#include <vector>

#include "common/api/search.h"
#include "common/base/clock.h"
#include "common/log/log_limiter.h"
#include "common/metrics/metrics.h"
#include "common/retrieval/retriever.h"
#include "common/rpc/rpc_service.h"
#include "sightline/v1/search.grpc.pb.h"

namespace sightline {

class RouterService final : public RpcService {
 public:
  // All must outlive the service.
  RouterService(const Retriever* retriever, CallGate* calls, MetricsRegistry* metrics,
                Clock* clock);

 private:
  absl::Status SearchItems(v1::SearchItemsRequest request, const CallContext& call,
                           v1::SearchItemsResponse* response);
  absl::Status ScorePairs(v1::ScorePairsRequest request, const CallContext& call,
                          v1::ScorePairsResponse* response);
  absl::Status GetItems(v1::GetItemsRequest request, const CallContext& call,
                        v1::GetItemsResponse* response);

  void Count(const SearchRequest& request, const SearchResult& result);
  // What backends said when an answer was less than whole; at most a line per code and
  // ten seconds.
  void LogFailures(const std::vector<absl::Status>& failures);

  const Retriever* const retriever_;
  LogLimiter log_limiter_;

  // Silent degradation is the failure nobody notices, so it is counted.
  std::map<DegradedReason, Counter> degraded_;
  std::map<RerankOutcome, Counter> reranks_;
  std::map<std::string, Counter> reranked_in_;  // by precision
  Counter rerank_asked_, rerank_scored_;
  std::map<std::pair<std::string, bool>, Counter> searches_;  // by effort, and whether filtered
  Histogram encode_seconds_, search_seconds_, rerank_seconds_, fetch_seconds_;
};

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_ROUTER_ROUTER_SERVICE_H_
