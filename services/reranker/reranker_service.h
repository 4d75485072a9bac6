// Reranker over gRPC: message in, RerankEngine, message out.
#ifndef SIGHTLINE_SERVICES_RERANKER_RERANKER_SERVICE_H_
#define SIGHTLINE_SERVICES_RERANKER_RERANKER_SERVICE_H_

#include "common/rpc/rpc_service.h"
#include "services/reranker/rerank_engine.h"
#include "sightline/v1/reranker.grpc.pb.h"

namespace sightline {

class RerankerService final : public RpcService {
 public:
  // Both must outlive the service.
  RerankerService(RerankEngine* engine, CallGate* calls);

 private:
  absl::Status RerankCandidates(v1::RerankCandidatesRequest request, const CallContext& call,
                                v1::RerankCandidatesResponse* response);

  RerankEngine* const engine_;
};

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_RERANKER_RERANKER_SERVICE_H_
