#include "common/rpc/admin_service.h"

#include <utility>

#include "common/base/status_macros.h"
#include "common/clients/convert_admin.h"

namespace sightline {

AdminService::AdminService(std::function<ServerStatus(const StatusRequest&)> status,
                           RpcCalls* calls)
    : status_(std::move(status)),
      get_status_(calls->AddMethod(v1::Admin::service_full_name(), "GetStatus",
                                   RpcCalls::Admission::kAlways)) {}

grpc::Status AdminService::GetStatus(grpc::ServerContext* context,
                                     const v1::GetStatusRequest* request,
                                     v1::GetStatusResponse* response) {
  return get_status_->Serve(context, [&](const CallContext&) -> absl::Status {
    ASSIGN_OR_RETURN(const StatusRequest asked, FromProto(*request));
    ToProto(status_(asked), response);
    return absl::OkStatus();
  });
}

}  // namespace sightline
