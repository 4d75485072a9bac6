#include "services/query_encoder/query_encoder_service.h"

#include <utility>

#include "common/base/status_macros.h"
#include "common/clients/convert_backends.h"

namespace sightline {

QueryEncoderService::QueryEncoderService(EncodeEngine* engine, CallGate* calls)
    : RpcService(v1::QueryEncoder::service_full_name(), calls), engine_(engine) {
  AddUnary("EncodeQueries", &QueryEncoderService::EncodeQueries);
}

absl::Status QueryEncoderService::EncodeQueries(v1::EncodeQueriesRequest request,
                                                const CallContext& call,
                                                v1::EncodeQueriesResponse* response) {
  ASSIGN_OR_RETURN(const EncodeRequest wanted, FromProto(std::move(request)));
  ASSIGN_OR_RETURN(EncodeResponse encoded, engine_->EncodeQueries(wanted, call));
  ToProto(std::move(encoded), wanted.target, response);
  return absl::OkStatus();
}

}  // namespace sightline
