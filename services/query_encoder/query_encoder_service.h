// QueryEncoder over gRPC: message in, EncodeEngine, message out.
#ifndef SIGHTLINE_SERVICES_QUERY_ENCODER_QUERY_ENCODER_SERVICE_H_
#define SIGHTLINE_SERVICES_QUERY_ENCODER_QUERY_ENCODER_SERVICE_H_

#include "common/rpc/rpc_calls.h"
#include "services/query_encoder/encode_engine.h"
#include "sightline/v1/query_encoder.grpc.pb.h"

namespace sightline {

class QueryEncoderService final : public v1::QueryEncoder::Service {
 public:
  // Both must outlive the service.
  QueryEncoderService(EncodeEngine* engine, RpcCalls* calls);

  grpc::Status EncodeQueries(grpc::ServerContext* context, const v1::EncodeQueriesRequest* request,
                             v1::EncodeQueriesResponse* response) override;

 private:
  EncodeEngine* const engine_;
  RpcMethod* const encode_;
};

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_QUERY_ENCODER_QUERY_ENCODER_SERVICE_H_
