#include "common/rpc/run.h"

#include "common/log/log.h"

namespace sightline {

int RunUntilSignal(RpcServer* server, ShutdownSignals* signals) {
  const int signal = signals->Wait();
  Log(Severity::kInfo, "draining", {{"signal", signal}});
  server->Drain();
  Log(Severity::kInfo, "drained");
  return 0;
}

}  // namespace sightline
