#include "services/query_encoder/query_encoder_service.h"

#include "common/base/status_macros.h"
#include "common/clients/convert_backends.h"

namespace sightline {

QueryEncoderService::QueryEncoderService(EncodeEngine* engine, RpcCalls* calls)
    : engine_(engine),
      encode_(calls->AddMethod(v1::QueryEncoder::service_full_name(), "EncodeQueries")) {}

grpc::Status QueryEncoderService::EncodeQueries(grpc::ServerContext* context,
                                                const v1::EncodeQueriesRequest* request,
                                                v1::EncodeQueriesResponse* response) {
  return encode_->Serve(context, [&](const CallContext& call) -> absl::Status {
    ASSIGN_OR_RETURN(const EncodeRequest wanted, FromProto(*request));
    ASSIGN_OR_RETURN(EncodeResponse encoded, engine_->EncodeQueries(wanted, call));
    ToProto(std::move(encoded), wanted.target, response);
    return absl::OkStatus();
  });
}

}  // namespace sightline
