#include "common/rpc/server_process.h"
#include "services/index_search/index_search_config.h"
#include "services/index_search/index_search_server.h"

int main(int argc, char** argv) {
  return sightline::RunServer<sightline::IndexSearchServer>(argc, argv, "index_search",
                                                            sightline::ReadIndexSearchConfig);
}
