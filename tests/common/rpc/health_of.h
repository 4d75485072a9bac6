// What a server's grpc.health.v1 says.
#ifndef SIGHTLINE_TESTS_COMMON_RPC_HEALTH_OF_H_
#define SIGHTLINE_TESTS_COMMON_RPC_HEALTH_OF_H_

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include <chrono>
#include <memory>
#include <string>

#include "common/base/error_details.h"
#include "common/rpc/grpc_status.h"
#include "grpc/health/v1/health.grpc.pb.h"

namespace sightline {

// Of `service`, by name of the status or of the error; half a minute at most.
inline std::string HealthOf(const std::shared_ptr<grpc::Channel>& channel,
                            const std::string& service) {
  using grpc::health::v1::HealthCheckResponse;
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
  grpc::health::v1::HealthCheckRequest request;
  request.set_service(service);
  HealthCheckResponse response;
  const absl::Status status = FromGrpcStatus(
      grpc::health::v1::Health::NewStub(channel)->Check(&context, request, &response));
  return status.ok() ? HealthCheckResponse::ServingStatus_Name(response.status())
                     : StatusCodeName(status.code());
}

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_COMMON_RPC_HEALTH_OF_H_
