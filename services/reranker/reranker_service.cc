#include "services/reranker/reranker_service.h"

#include "common/base/status_macros.h"
#include "common/clients/convert_backends.h"

namespace sightline {

RerankerService::RerankerService(RerankEngine* engine, RpcCalls* calls)
    : engine_(engine),
      rerank_(calls->AddMethod(v1::Reranker::service_full_name(), "RerankCandidates")) {}

grpc::Status RerankerService::RerankCandidates(grpc::ServerContext* context,
                                               const v1::RerankCandidatesRequest* request,
                                               v1::RerankCandidatesResponse* response) {
  return rerank_->Serve(context, [&](const CallContext& call) -> absl::Status {
    ASSIGN_OR_RETURN(const RerankRequest wanted, FromProto(*request));
    ASSIGN_OR_RETURN(const RerankResponse scored, engine_->RerankCandidates(wanted, call));
    ToProto(scored, wanted.target, response);
    return absl::OkStatus();
  });
}

}  // namespace sightline
