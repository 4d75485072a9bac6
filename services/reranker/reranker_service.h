// Reranker over gRPC: message in, RerankEngine, message out.
#ifndef SIGHTLINE_SERVICES_RERANKER_RERANKER_SERVICE_H_
#define SIGHTLINE_SERVICES_RERANKER_RERANKER_SERVICE_H_

#include "common/rpc/rpc_calls.h"
#include "services/reranker/rerank_engine.h"
#include "sightline/v1/reranker.grpc.pb.h"

namespace sightline {

class RerankerService final : public v1::Reranker::Service {
 public:
  // Both must outlive the service.
  RerankerService(RerankEngine* engine, RpcCalls* calls);

  grpc::Status RerankCandidates(grpc::ServerContext* context,
                                const v1::RerankCandidatesRequest* request,
                                v1::RerankCandidatesResponse* response) override;

 private:
  RerankEngine* const engine_;
  RpcMethod* const rerank_;
};

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_RERANKER_RERANKER_SERVICE_H_
