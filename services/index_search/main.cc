#include <memory>

#include "common/base/status_macros.h"
#include "common/rpc/server_process.h"
#include "services/index_search/index_search_config.h"
#include "services/index_search/index_search_server.h"

int main(int argc, char** argv) {
  using namespace sightline;  // NOLINT: this file is nothing but glue
  return RunServerProcess(argc, argv, "index_search",
                          [](ConfigFile* file) -> absl::StatusOr<std::unique_ptr<ServerProcess>> {
                            ASSIGN_OR_RETURN(const IndexSearchConfig config,
                                             ReadIndexSearchConfig(file));
                            return std::make_unique<IndexSearchServer>(config);
                          });
}
