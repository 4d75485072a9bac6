// Waiting for a server to be ready, by its health and not by time.
#ifndef SIGHTLINE_LOADTEST_FLEET_AWAIT_SERVING_H_
#define SIGHTLINE_LOADTEST_FLEET_AWAIT_SERVING_H_

#include <string>

#include "absl/status/status.h"
#include "common/base/call_context.h"

namespace sightline {

// Blocks until the server at `address` reports SERVING (Watch of grpc.health.v1); it need
// not be there yet.  DeadlineExceeded or Cancelled, as `call` ends; what the server says
// if it does not know health.
absl::Status AwaitServing(const std::string& address, const CallContext& call);

}  // namespace sightline

#endif  // SIGHTLINE_LOADTEST_FLEET_AWAIT_SERVING_H_
