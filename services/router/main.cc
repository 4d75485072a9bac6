#include <memory>

#include "common/base/status_macros.h"
#include "common/rpc/server_process.h"
#include "services/router/router_config.h"
#include "services/router/router_server.h"

int main(int argc, char** argv) {
  using namespace sightline;  // NOLINT: this file is nothing but glue
  return RunServerProcess(argc, argv, "router",
                          [](ConfigFile* file) -> absl::StatusOr<std::unique_ptr<ServerProcess>> {
                            ASSIGN_OR_RETURN(const RouterConfig config, ReadRouterConfig(file));
                            return std::make_unique<RouterServer>(config);
                          });
}
