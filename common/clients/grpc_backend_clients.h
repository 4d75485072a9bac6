// The abstract clients of common/api/clients.h over gRPC.
//
//   std::shared_ptr<grpc::Channel> channel = MakeChannel("10.0.0.7:7402");
//   std::unique_ptr<IndexSearchClient> client = MakeGrpcIndexSearchClient(channel,
//   "10.0.0.7:7402");
//
// A call is asynchronous from end to end: no thread waits for it.  It carries the
// context's deadline and request id, and cancelling the context cancels it.  `done` runs
// exactly once, where calls end (CallQueue) or, for a call that is over before it began, on the
// caller's; it must not block.  The client may be dropped while calls are under way.
//
// Errors keep the server's code, message and details, with `<kind> <name>: ` before the
// message.  An answer that does not fit its request (another generation, a wrong number
// of results) is Internal and never reaches `done` as a value.  A call whose context is
// cancelled ends as Cancelled.
//
// gRPC's headers stay in the .cc: common/rpc/channel.h makes channels.  Clients of
// several services may share one channel.
#ifndef SIGHTLINE_COMMON_CLIENTS_GRPC_BACKEND_CLIENTS_H_
#define SIGHTLINE_COMMON_CLIENTS_GRPC_BACKEND_CLIENTS_H_

#include <memory>
#include <string>

#include "common/api/clients.h"

namespace grpc {
class Channel;
}  // namespace grpc

namespace sightline {

// Never null.  `name`, usually the address, tells this server from others in messages.
std::unique_ptr<QueryEncoderClient> MakeGrpcQueryEncoderClient(
    std::shared_ptr<grpc::Channel> channel, std::string name);
std::unique_ptr<IndexSearchClient> MakeGrpcIndexSearchClient(std::shared_ptr<grpc::Channel> channel,
                                                             std::string name);
std::unique_ptr<RerankerClient> MakeGrpcRerankerClient(std::shared_ptr<grpc::Channel> channel,
                                                       std::string name);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_CLIENTS_GRPC_BACKEND_CLIENTS_H_
