#include "services/query_encoder/query_encoder_config.h"

#include <string>

#include "tests/support/catch.h"

namespace sightline {
namespace {

using Catch::Contains;

absl::StatusOr<QueryEncoderConfig> Read(absl::string_view text) {
  absl::StatusOr<ConfigFile> file = ConfigFile::Parse(text, "test.yaml");
  REQUIRE(file.status() == absl::OkStatus());
  return ReadQueryEncoderConfig(&*file);
}

std::string ProblemsOf(absl::string_view text) {
  const absl::Status status = Read(text).status();
  CHECK(absl::IsInvalidArgument(status));
  return std::string(status.message());
}

constexpr char kLeast[] = "store: /data\nindexes: [images]\n";

TEST_CASE("store and indexes are enough") {
  const auto config = Read(kLeast);
  REQUIRE(config.status() == absl::OkStatus());
  CHECK(config->store.store == "/data");
  CHECK(config->store.verify);
  CHECK(config->server.listen == "0.0.0.0:7401");
  CHECK(config->server.metrics_listen == "0.0.0.0:9401");
  // The largest picture and the message around it fit.
  CHECK(config->server.max_receive_bytes > config->engine.limits.max_bytes);
  CHECK(config->engine.decode.max_batch_size == 1);
  // The largest picture, in megapixels begun, fits into a batch.
  CHECK(config->engine.decode.max_batch_cost > config->engine.limits.max_pixels / 1'000'000);
  CHECK(config->engine.max_queries == 256);
}

TEST_CASE("models are on the CPU unless a device is named, which this program was built without") {
  CHECK(Read(kLeast)->place.execution.on_cpu());
  CHECK_THAT(ProblemsOf(std::string(kLeast) + "device: {kind: cuda}\n"),
             Contains("device.kind") && Contains("--config=cuda"));
}

TEST_CASE("what the file says counts") {
  const auto config = Read(std::string(kLeast) + R"(
text_batching: {max_batch_cost: 100, workers: 3}
image_batching: {max_batch_size: 4}
decode_batching: {max_queue_cost: 700}
limits: {max_image_bytes: 1MiB, max_image_pixels: 1000000, max_image_side: 2000, max_queries: 7}
)");
  REQUIRE(config.status() == absl::OkStatus());
  CHECK(config->engine.text.max_batch_cost == 100);
  CHECK(config->engine.text.workers == 3);
  CHECK(config->engine.image.max_batch_size == 4);
  CHECK(config->engine.decode.max_queue_cost == 700);
  CHECK(config->engine.limits.max_bytes == 1 << 20);
  CHECK(config->engine.limits.max_pixels == 1'000'000);
  CHECK(config->engine.limits.max_side == 2000);
  CHECK(config->engine.max_queries == 7);
}

TEST_CASE("all problems are said at once") {
  const std::string problems = ProblemsOf(R"(
text_batching: {workers: 0}
limits: {max_image_bytes: 17MiB, max_queries: 257}
decode_batching: {max_batch_cost: 60}
colour: red
)");
  CHECK_THAT(problems, Contains("store"));
  CHECK_THAT(problems, Contains("indexes"));
  CHECK_THAT(problems, Contains("text_batching.workers"));
  CHECK_THAT(problems, Contains("limits.max_image_bytes"));
  CHECK_THAT(problems, Contains("limits.max_queries"));
  CHECK_THAT(problems, Contains("decode_batching.max_batch_cost"));
  CHECK_THAT(problems, Contains("colour"));
}

TEST_CASE("a decoding batch just holds the largest picture") {
  const std::string limits = std::string(kLeast) + "limits: {max_image_pixels: 9999999}\n";
  CHECK(Read(limits + "decode_batching: {max_batch_cost: 10}\n").ok());
  CHECK_THAT(ProblemsOf(limits + "decode_batching: {max_batch_cost: 9}\n"),
             Contains("decode_batching.max_batch_cost"));
}

}  // namespace
}  // namespace sightline
