#include "services/query_encoder/query_encoder_config.h"

#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/models/device_passes.h"

namespace sightline {

absl::StatusOr<QueryEncoderConfig> ReadQueryEncoderConfig(ConfigFile* file) {
  ConfigReader root = file->root();
  QueryEncoderConfig config;
  RpcServerOptions ports;
  ports.listen = "0.0.0.0:7401";
  ports.metrics_listen = "0.0.0.0:9401";
  ports.max_receive_bytes = limits::kUploadMessageBytes;
  config.server = ReadRpcServerOptions(root, ports);
  config.store = ReadStoreConfig(root);
  config.generations = ReadGenerationOptions(root, config.store);
  config.compute = ReadComputeConfig(root);
  config.precision = ReadPrecisionOptions(root, config.compute);
  config.place = ReadModelPlaceConfig(root);

  // A pass of a device is as large as a batch may be.
  const bool on_cpu = config.place.execution.on_cpu();
  BatchSchedulerOptions text;
  text.max_batch_cost = on_cpu ? 2048 : kDevicePassRows;
  text.max_batch_size = on_cpu ? 64 : 512;
  // One lays out a pass while the device computes another.
  text.workers = on_cpu ? 1 : 2;
  text.max_queue_cost = 16384;
  BatchSchedulerOptions image;
  image.max_batch_cost = 16;
  image.max_batch_size = 16;
  image.max_queue_cost = 256;
  BatchSchedulerOptions decode;
  decode.max_batch_cost = 64;
  decode.max_batch_size = 1;
  decode.max_queue_cost = 512;
  config.engine.text = ReadBatchSchedulerOptions(root, "text_batching", text);
  config.engine.image = ReadBatchSchedulerOptions(root, "image_batching", image);
  config.engine.decode = ReadBatchSchedulerOptions(root, "decode_batching", decode);

  ConfigReader section = root.Section("limits");
  config.engine.limits.max_bytes =
      section.Bytes("max_image_bytes", limits::kMaxImageBytes, 1, limits::kMaxImageBytes);
  config.engine.limits.max_pixels =
      section.Int("max_image_pixels", limits::kMaxImagePixels, 1, limits::kMaxImagePixels);
  config.engine.limits.max_side = static_cast<int>(
      section.Int("max_image_side", limits::kMaxImageSide, 1, limits::kMaxConfiguredImageSide));
  config.engine.max_queries =
      static_cast<int>(section.Int("max_queries", limits::kMaxQueries, 1, limits::kMaxQueries));
  if (config.engine.decode.max_batch_cost <= config.engine.limits.max_pixels / 1'000'000) {
    root.Section("decode_batching")
        .AddProblem("max_batch_cost",
                    "is in megapixels and must exceed limits.max_image_pixels / 1000000");
  }
  RETURN_IF_ERROR(file->Finish());
  return config;
}

}  // namespace sightline
