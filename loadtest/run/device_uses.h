// What servers do on their GPUs during a run, as they tell it themselves.
#ifndef SIGHTLINE_LOADTEST_RUN_DEVICE_USES_H_
#define SIGHTLINE_LOADTEST_RUN_DEVICE_USES_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/api/server_status.h"
#include "common/base/call_context.h"
#include "loadtest/measure/load_result.h"

namespace sightline {

// Asks a server for its status.
using AskStatus = std::function<absl::StatusOr<ServerStatus>(const std::string& address)>;

// By gRPC; none waits for more than two seconds.
AskStatus AskStatusByGrpc(const CallContext& call);

// The devices of all servers that the routers at these addresses reach, by server and number, with
// what each has done since its server started.  A server that does not answer is left out, with a
// warning.
std::vector<DeviceUse> AskDevices(const std::vector<std::string>& routers, const AskStatus& ask);

// What was done from `before` on until `after` was told.  A server that was not there before, or
// has started anew, counts from its start.
std::vector<DeviceUse> UsesBetween(const std::vector<DeviceUse>& before,
                                   std::vector<DeviceUse> after);

}  // namespace sightline

#endif  // SIGHTLINE_LOADTEST_RUN_DEVICE_USES_H_
