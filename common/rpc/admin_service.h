// Admin over gRPC: every server has one.
#ifndef SIGHTLINE_COMMON_RPC_ADMIN_SERVICE_H_
#define SIGHTLINE_COMMON_RPC_ADMIN_SERVICE_H_

#include <functional>

#include "common/clients/server_status.h"
#include "common/rpc/rpc_calls.h"
#include "sightline/v1/admin.grpc.pb.h"

namespace sightline {

class AdminService final : public v1::Admin::Service {
 public:
  // `status` is called for each request, from any thread.  `calls` must outlive this.
  AdminService(std::function<ServerStatus(const StatusRequest&)> status, RpcCalls* calls);

  grpc::Status GetStatus(grpc::ServerContext* context, const v1::GetStatusRequest* request,
                         v1::GetStatusResponse* response) override;

 private:
  const std::function<ServerStatus(const StatusRequest&)> status_;
  RpcMethod* const get_status_;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_RPC_ADMIN_SERVICE_H_
