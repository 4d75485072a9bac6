#include "common/rpc/server_process.h"
#include "services/reranker/reranker_config.h"
#include "services/reranker/reranker_server.h"

int main(int argc, char** argv) {
  return sightline::RunServer<sightline::RerankerServer>(argc, argv, "reranker",
                                                         sightline::ReadRerankerConfig);
}
