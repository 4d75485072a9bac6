#include "common/rpc/server_process.h"
#include "services/router/router_config.h"
#include "services/router/router_server.h"

int main(int argc, char** argv) {
  return sightline::RunServer<sightline::RouterServer>(argc, argv, "router",
                                                       sightline::ReadRouterConfig);
}
