#include "services/reranker/reranker_service.h"

#include <utility>

#include "common/base/status_macros.h"
#include "common/clients/convert_backends.h"

namespace sightline {

RerankerService::RerankerService(RerankEngine* engine, CallGate* calls)
    : RpcService(v1::Reranker::service_full_name(), calls), engine_(engine) {
  AddUnary("RerankCandidates", &RerankerService::RerankCandidates);
}

absl::Status RerankerService::RerankCandidates(v1::RerankCandidatesRequest request,
                                               const CallContext& call,
                                               v1::RerankCandidatesResponse* response) {
  ASSIGN_OR_RETURN(const RerankRequest wanted, FromProto(std::move(request)));
  ASSIGN_OR_RETURN(const RerankResponse scored, engine_->RerankCandidates(wanted, call));
  ToProto(scored, wanted.target, response);
  return absl::OkStatus();
}

}  // namespace sightline
