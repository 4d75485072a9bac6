// The last line of a server's main().
#ifndef SIGHTLINE_COMMON_RPC_RUN_H_
#define SIGHTLINE_COMMON_RPC_RUN_H_

#include "common/rpc/rpc_server.h"
#include "common/rpc/shutdown_signals.h"

namespace sightline {

// Waits for SIGTERM or SIGINT, drains `server` and returns the exit status, which is 0:
// being told to stop is no failure.  A second signal ends the process at once.
int RunUntilSignal(RpcServer* server, ShutdownSignals* signals);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_RPC_RUN_H_
