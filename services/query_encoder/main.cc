#include "common/rpc/server_process.h"
#include "services/query_encoder/query_encoder_config.h"
#include "services/query_encoder/query_encoder_server.h"

int main(int argc, char** argv) {
  return sightline::RunServer<sightline::QueryEncoderServer>(argc, argv, "query_encoder",
                                                             sightline::ReadQueryEncoderConfig);
}
