// QueryEncoder over gRPC: message in, EncodeEngine, message out.
#ifndef SIGHTLINE_SERVICES_QUERY_ENCODER_QUERY_ENCODER_SERVICE_H_
#define SIGHTLINE_SERVICES_QUERY_ENCODER_QUERY_ENCODER_SERVICE_H_

#include "common/rpc/rpc_service.h"
#include "services/query_encoder/encode_engine.h"
#include "sightline/v1/query_encoder.grpc.pb.h"

namespace sightline {

class QueryEncoderService final : public RpcService {
 public:
  // Both must outlive the service.
  QueryEncoderService(EncodeEngine* engine, CallGate* calls);

 private:
  absl::Status EncodeQueries(v1::EncodeQueriesRequest request, const CallContext& call,
                             v1::EncodeQueriesResponse* response);

  EncodeEngine* const engine_;
};

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_QUERY_ENCODER_QUERY_ENCODER_SERVICE_H_
