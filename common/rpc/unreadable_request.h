// A request that is no message of its method's type is the caller's fault, and is told so.
//
// protobuf reads a request before a handler sees it, and gRPC reports what it cannot read
// as INTERNAL without a word: a text in Latin-1, for one, would look like a bug of ours.
#ifndef SIGHTLINE_COMMON_RPC_UNREADABLE_REQUEST_H_
#define SIGHTLINE_COMMON_RPC_UNREADABLE_REQUEST_H_

#include <grpcpp/support/server_interceptor.h>

#include <memory>

namespace sightline {

// The reason (ErrorInfo) of the refusal.
inline constexpr char kUnreadableRequest[] = "UNREADABLE_REQUEST";

// For ServerBuilder::experimental().SetInterceptorCreators.  Unary calls whose request
// cannot be read end with INVALID_ARGUMENT and the reason above; all else passes as it is,
// streams among it.
std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface> RefuseUnreadableRequests();

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_RPC_UNREADABLE_REQUEST_H_
