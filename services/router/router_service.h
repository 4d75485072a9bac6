// Search over gRPC: message in, Retriever, message out.
#ifndef SIGHTLINE_SERVICES_ROUTER_ROUTER_SERVICE_H_
#define SIGHTLINE_SERVICES_ROUTER_ROUTER_SERVICE_H_

#include <map>
#include <vector>

#include "common/base/clock.h"
#include "common/log/log_limiter.h"
#include "common/metrics/metrics.h"
#include "common/retrieval/retriever.h"
#include "common/rpc/rpc_calls.h"
#include "sightline/v1/search.grpc.pb.h"

namespace sightline {

class RouterService final : public v1::Search::Service {
 public:
  // All must outlive the service.
  RouterService(const Retriever* retriever, RpcCalls* calls, MetricsRegistry* metrics,
                Clock* clock);

  grpc::Status SearchItems(grpc::ServerContext* context, const v1::SearchItemsRequest* request,
                           v1::SearchItemsResponse* response) override;
  grpc::Status ScorePairs(grpc::ServerContext* context, const v1::ScorePairsRequest* request,
                          v1::ScorePairsResponse* response) override;
  grpc::Status GetItems(grpc::ServerContext* context, const v1::GetItemsRequest* request,
                        v1::GetItemsResponse* response) override;

 private:
  void Count(const SearchResult& result);
  // What backends said when an answer was less than whole; at most a line per code and
  // ten seconds.
  void LogFailures(const std::vector<absl::Status>& failures);

  const Retriever* const retriever_;
  RpcMethod* const search_;
  RpcMethod* const score_;
  RpcMethod* const get_;

  LogLimiter log_limiter_;

  // Silent degradation is the failure nobody notices, so it is counted.
  std::map<DegradedReason, Counter> degraded_;
  std::map<RerankOutcome, Counter> reranks_;
  Histogram encode_seconds_, search_seconds_, rerank_seconds_, fetch_seconds_;
};

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_ROUTER_ROUTER_SERVICE_H_
