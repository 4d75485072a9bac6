#include <memory>

#include "common/base/status_macros.h"
#include "common/rpc/server_process.h"
#include "services/reranker/reranker_config.h"
#include "services/reranker/reranker_server.h"

int main(int argc, char** argv) {
  using namespace sightline;  // NOLINT: this file is nothing but glue
  return RunServerProcess(argc, argv, "reranker",
                          [](ConfigFile* file) -> absl::StatusOr<std::unique_ptr<ServerProcess>> {
                            ASSIGN_OR_RETURN(const RerankerConfig config, ReadRerankerConfig(file));
                            return std::make_unique<RerankerServer>(config);
                          });
}
