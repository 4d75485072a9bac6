#include <memory>

#include "common/base/status_macros.h"
#include "common/rpc/server_process.h"
#include "services/query_encoder/query_encoder_config.h"
#include "services/query_encoder/query_encoder_server.h"

int main(int argc, char** argv) {
  using namespace sightline;  // NOLINT: this file is nothing but glue
  return RunServerProcess(argc, argv, "query_encoder",
                          [](ConfigFile* file) -> absl::StatusOr<std::unique_ptr<ServerProcess>> {
                            ASSIGN_OR_RETURN(const QueryEncoderConfig config,
                                             ReadQueryEncoderConfig(file));
                            return std::make_unique<QueryEncoderServer>(config);
                          });
}
