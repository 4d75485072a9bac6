#include <malloc.h>

#include <memory>

#include "common/base/status_macros.h"
#include "common/rpc/server_process.h"
#include "services/router/router_config.h"
#include "services/router/router_server.h"

int main(int argc, char** argv) {
  using namespace sightline;  // NOLINT: this file is nothing but glue
  // Pages of an upload go back to the system with it.  By itself glibc learns from the first that
  // goes to keep such pieces, and up to two of them for each of its arenas.
  ::mallopt(M_MMAP_THRESHOLD, 1 << 20);
  return RunServerProcess(argc, argv, "router",
                          [](ConfigFile* file) -> absl::StatusOr<std::unique_ptr<ServerProcess>> {
                            ASSIGN_OR_RETURN(const RouterConfig config, ReadRouterConfig(file));
                            return std::make_unique<RouterServer>(config);
                          });
}
