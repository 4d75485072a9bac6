#include "services/reranker/reranker_config.h"

#include <cstdlib>
#include <string>

#include "tests/support/catch.h"

namespace sightline {
namespace {

using Catch::Contains;

absl::StatusOr<RerankerConfig> Read(absl::string_view text) {
  absl::StatusOr<ConfigFile> file = ConfigFile::Parse(text, "test.yaml");
  REQUIRE(file.status() == absl::OkStatus());
  return ReadRerankerConfig(&*file);
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
  CHECK(config->server.listen == "0.0.0.0:7403");
  CHECK(config->server.metrics_listen == "0.0.0.0:9403");
  CHECK(config->engine.max_candidates == 1000);
  CHECK(config->engine.max_reading == 192);
  CHECK(config->engine.batching.max_batch_cost == 4096);
}

TEST_CASE("what the file says counts") {
  const auto config = Read(std::string(kLeast) + R"(
server: {max_concurrent_calls: 1}
batching: {max_batch_cost: 512, max_age: 1s}
limits: {max_candidates: 50}
compute: {threads: 3, deterministic: true, precision: int8}
)");
  REQUIRE(config.status() == absl::OkStatus());
  CHECK(config->engine.batching.max_batch_cost == 512);
  CHECK(config->engine.batching.max_age == absl::Seconds(1));
  CHECK(config->engine.max_candidates == 50);
  CHECK(config->engine.max_reading == 1);
  CHECK(config->compute.threads == 3);
  CHECK(config->compute.deterministic);
  CHECK(config->precision.policy.precision == "int8");
}

TEST_CASE("models are on the CPU unless a device is named, which this program was built without") {
  CHECK(Read(kLeast)->place.execution.on_cpu());
  CHECK(Read(std::string(kLeast) + "device: {kind: cpu}\n")->place.execution.on_cpu());
  CHECK_THAT(ProblemsOf(std::string(kLeast) + "device: {kind: cuda}\n"),
             Contains("device.kind") && Contains("--config=cuda"));
  CHECK_THAT(ProblemsOf(std::string(kLeast) + "device: {kind: cuda, numbers: [0, 1]}\n"),
             Contains("device.numbers") && Contains("start one for each"));
  CHECK_THAT(ProblemsOf(std::string(kLeast) + "device: {required: true}\n"),
             Contains("device.required"));
}

TEST_CASE("the environment may name a device where the file does not") {
  const auto with = [](const char* value, const std::string& text) {
    setenv("SIGHTLINE_DEVICE", value, /*overwrite=*/1);
    const auto config = Read(kLeast + text);
    unsetenv("SIGHTLINE_DEVICE");
    return std::string(config.status().message());
  };
  CHECK_THAT(with("cuda", ""), Contains("--config=cuda"));
  CHECK(with("cuda", "device: {kind: cpu}\n").empty());
  CHECK(with("cpu", "").empty());
  CHECK(with("", "").empty());
  CHECK_THAT(with("tpu", ""), Contains("$SIGHTLINE_DEVICE is 'tpu'"));
}

TEST_CASE("all problems are said at once") {
  const std::string problems = ProblemsOf(R"(
store: /data
batching: {max_batch_cost: 5000, max_queue_cost: 4999}
limits: {max_candidates: 1001, max_pairs: 3}
compute: {threads: 0}
)");
  CHECK_THAT(problems, Contains("indexes"));
  CHECK_THAT(problems, Contains("batching.max_queue_cost"));
  CHECK_THAT(problems, Contains("limits.max_candidates"));
  CHECK_THAT(problems, Contains("limits.max_pairs"));
  CHECK_THAT(problems, Contains("compute.threads"));
}

}  // namespace
}  // namespace sightline
