// Configuration of query_encoder; README.md lists every key.
#ifndef SIGHTLINE_SERVICES_QUERY_ENCODER_QUERY_ENCODER_CONFIG_H_
#define SIGHTLINE_SERVICES_QUERY_ENCODER_QUERY_ENCODER_CONFIG_H_

#include "common/config/config.h"
#include "common/config/device_models.h"
#include "common/config/sections.h"
#include "common/rpc/rpc_options.h"
#include "services/query_encoder/encode_engine.h"

namespace sightline {

struct QueryEncoderConfig {
  RpcServerOptions server;
  StoreConfig store;
  GenerationOptions generations;
  ComputeConfig compute;
  PrecisionOptions precision;
  ModelPlaceConfig place;
  EncodeEngineOptions engine;
};

// Reads and finishes `file`: InvalidArgument with every problem.
absl::StatusOr<QueryEncoderConfig> ReadQueryEncoderConfig(ConfigFile* file);

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_QUERY_ENCODER_QUERY_ENCODER_CONFIG_H_
