#include <malloc.h>

#include "common/rpc/server_process.h"
#include "services/router/router_config.h"
#include "services/router/router_server.h"

int main(int argc, char** argv) {
  // Pages of an upload go back to the system with it.  By itself glibc learns from the first that
  // goes to keep such pieces, and up to two of them for each of its arenas.
  ::mallopt(M_MMAP_THRESHOLD, 1 << 20);
  return sightline::RunServer<sightline::RouterServer>(argc, argv, "router",
                                                       sightline::ReadRouterConfig);
}
