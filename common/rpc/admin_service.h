// Admin over gRPC: every server has one.
#ifndef SIGHTLINE_COMMON_RPC_ADMIN_SERVICE_H_
#define SIGHTLINE_COMMON_RPC_ADMIN_SERVICE_H_

#include <functional>

#include "common/api/server_status.h"
#include "common/rpc/rpc_service.h"
#include "sightline/v1/admin.grpc.pb.h"

namespace sightline {

class AdminService final : public RpcService {
 public:
  // `status` is called for each request, from any thread.  `calls` must outlive this.
  AdminService(std::function<ServerStatus(const StatusRequest&)> status, CallGate* calls);

 private:
  absl::Status GetStatus(v1::GetStatusRequest request, const CallContext& call,
                         v1::GetStatusResponse* response);

  const std::function<ServerStatus(const StatusRequest&)> status_;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_RPC_ADMIN_SERVICE_H_
