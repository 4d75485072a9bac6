// Composition root of query_encoder.
#ifndef SIGHTLINE_SERVICES_QUERY_ENCODER_QUERY_ENCODER_SERVER_H_
#define SIGHTLINE_SERVICES_QUERY_ENCODER_QUERY_ENCODER_SERVER_H_

#include "common/base/compute_pool.h"
#include "common/generations/generation_follower.h"
#include "common/generations/generation_registry.h"
#include "common/generations/janitor.h"
#include "common/metrics/metrics.h"
#include "common/models/model_cache.h"
#include "common/rpc/admin_service.h"
#include "common/rpc/rpc_server.h"
#include "common/rpc/server_process.h"
#include "services/query_encoder/encode_engine.h"
#include "services/query_encoder/encoder_host.h"
#include "services/query_encoder/query_encoder_config.h"
#include "services/query_encoder/query_encoder_service.h"

namespace sightline {

class QueryEncoderServer : public ServerProcess {
 public:
  explicit QueryEncoderServer(const QueryEncoderConfig& config);
  ~QueryEncoderServer() override;

  absl::Status Start() override;
  RpcServer* rpc() override { return &rpc_; }

 private:
  ServerStatus Status(const StatusRequest& request);

  MetricsRegistry metrics_;
  ComputePool pool_;
  Janitor janitor_;
  ModelCache models_;
  GenerationRegistry<EncoderGeneration> generations_;
  EncoderHost host_;
  EncodeEngine engine_;
  RpcServer rpc_;
  QueryEncoderService service_;
  GenerationFollower follower_;
  AdminService admin_;
};

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_QUERY_ENCODER_QUERY_ENCODER_SERVER_H_
