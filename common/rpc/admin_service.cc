#include "common/rpc/admin_service.h"

#include <utility>

#include "common/base/status_macros.h"
#include "common/clients/convert_admin.h"

namespace sightline {

AdminService::AdminService(std::function<ServerStatus(const StatusRequest&)> status,
                           CallGate* calls)
    : RpcService(v1::Admin::service_full_name(), calls), status_(std::move(status)) {
  AddUnary("GetStatus", &AdminService::GetStatus, CallGate::Admission::kAlways);
}

absl::Status AdminService::GetStatus(v1::GetStatusRequest request, const CallContext&,
                                     v1::GetStatusResponse* response) {
  ASSIGN_OR_RETURN(const StatusRequest asked, FromProto(request));
  ToProto(status_(asked), response);
  return absl::OkStatus();
}

}  // namespace sightline
