// Asks a server, of any kind, what it is, holds and does.
//
//   std::unique_ptr<AdminClient> client = MakeGrpcAdminClient("10.0.0.7:7402");
//   CallContext call(Clock::Real(), Clock::Real()->Now() + absl::Seconds(1));
//   ASSIGN_OR_RETURN(ServerStatus status, client->GetStatus(call));
//
// The rules are those of search_client.h.
#ifndef SIGHTLINE_COMMON_CLIENTS_ADMIN_CLIENT_H_
#define SIGHTLINE_COMMON_CLIENTS_ADMIN_CLIENT_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/api/clients.h"
#include "common/api/server_status.h"
#include "common/base/call_context.h"
#include "common/base/server_address.h"

namespace grpc {
class Channel;
}  // namespace grpc

namespace sightline {

// Admin of admin.proto, which every server has.
class AdminClient {
 public:
  virtual ~AdminClient() = default;

  virtual void GetStatus(const CallContext& call, StatusRequest request,
                         Done<ServerStatus> done) = 0;

  absl::StatusOr<ServerStatus> GetStatus(const CallContext& call, StatusRequest request = {});
};

// Never null.  The first makes a channel of its own; the second uses the caller's and
// names the server by `name` in messages.
std::unique_ptr<AdminClient> MakeGrpcAdminClient(const ServerAddress& address);
std::unique_ptr<AdminClient> MakeGrpcAdminClient(std::shared_ptr<grpc::Channel> channel,
                                                 const std::string& name);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_CLIENTS_ADMIN_CLIENT_H_
