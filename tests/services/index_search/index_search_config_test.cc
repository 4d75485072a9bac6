#include "services/index_search/index_search_config.h"

#include <string>
#include <vector>

#include "tests/support/catch.h"

namespace sightline {
namespace {

using Catch::Contains;

absl::StatusOr<IndexSearchConfig> Read(absl::string_view text) {
  absl::StatusOr<ConfigFile> file = ConfigFile::Parse(text, "test.yaml");
  REQUIRE(file.status() == absl::OkStatus());
  return ReadIndexSearchConfig(&*file);
}

std::string ProblemsOf(absl::string_view text) {
  const absl::Status status = Read(text).status();
  CHECK(absl::IsInvalidArgument(status));
  return std::string(status.message());
}

constexpr char kLeast[] = "store: /data\nindexes: [images]\n";

TEST_CASE("store and indexes are enough, and mean all shards") {
  const auto config = Read(kLeast);
  REQUIRE(config.status() == absl::OkStatus());
  CHECK(config->server.listen == "0.0.0.0:7402");
  CHECK(config->server.metrics_listen == "0.0.0.0:9402");
  CHECK(config->shards.empty());
  CHECK(config->rows == RowsPlace::kAsBuilt);
  CHECK(config->engine.batching.max_batch_cost >= config->engine.max_queries);
}

TEST_CASE("what the file says counts") {
  const auto config =
      Read(std::string(kLeast) + "shards: [0, 12]\nstate_dir: /state\n" +
           "compute: {threads: 3}\nbatching: {max_batch_cost: 300}\n" +
           "generations: {poll_interval: 200ms, restored_after: 30s, release_after: 2m}\n" +
           "memory_limit: 3GiB\nloading: {max_bytes_per_second: 50MiB}\n");
  REQUIRE(config.status() == absl::OkStatus());
  CHECK(config->shards == std::vector<int>{0, 12});
  CHECK(config->generations.state_dir == "/state");
  CHECK(config->generations.poll_interval == absl::Milliseconds(200));
  CHECK(config->generations.restored_after == absl::Seconds(30));
  CHECK(config->generations.release_after == absl::Minutes(2));
  CHECK(config->generations.max_bytes_per_second == int64_t{50} << 20);
  CHECK(config->generations.memory_limit == int64_t{3} << 30);
  CHECK(config->generations.indexes == config->store.indexes);
  CHECK(config->threads == 3);
  CHECK(config->engine.batching.max_batch_cost == 300);
}

TEST_CASE("rows are where the file says") {
  const auto place = [](const char* name) {
    return Read(std::string(kLeast) + "rows: " + name + "\n")->rows;
  };
  CHECK(place("as_built") == RowsPlace::kAsBuilt);
  CHECK(place("memory") == RowsPlace::kMemory);
  CHECK(place("disk") == RowsPlace::kDisk);
}

TEST_CASE("without a section of devices everything is searched on the CPU") {
  const auto config = Read(kLeast);
  REQUIRE(config.status() == absl::OkStatus());
  CHECK(config->devices.devices == nullptr);
  CHECK(config->devices.numbers.empty());
  CHECK_FALSE(config->devices.required);
  CHECK(Read(std::string(kLeast) + "device: {kind: cpu}\n").ok());
}

TEST_CASE("what a program was built without is a problem, and what a CPU has no use for") {
  const std::string cuda = ProblemsOf(std::string(kLeast) +
                                      "device: {kind: cuda, numbers: [0, 0, 64, x], required: "
                                      "perhaps, memory_limit: 0}\n");
  CHECK_THAT(cuda, Contains("device.kind") && Contains("--config=cuda"));
  CHECK_THAT(cuda, Contains("device.numbers: 0 is named twice"));
  CHECK_THAT(cuda, Contains("'64' is no device number (0 to 63)"));
  CHECK_THAT(cuda, Contains("'x' is no device number"));
  CHECK_THAT(cuda, Contains("device.required"));
  CHECK_THAT(cuda, Contains("device.memory_limit"));
  const std::string cpu =
      ProblemsOf(std::string(kLeast) + "device: {numbers: [1], required: true}\n");
  CHECK_THAT(cpu, Contains("device.numbers: is of devices, and `device.kind` is cpu"));
  CHECK_THAT(cpu, Contains("device.required: is of devices"));
}

TEST_CASE("all problems are said at once") {
  const std::string problems = ProblemsOf(R"(
indexes: [images]
shards: [3, -1, x, 3, 10000]
batching: {max_batch_cost: 255}
rows: tape
shard: 4
)");
  CHECK_THAT(problems, Contains("store"));
  CHECK_THAT(problems, Contains("'-1' is no shard number"));
  CHECK_THAT(problems, Contains("'x' is no shard number"));
  CHECK_THAT(problems, Contains("'10000' is no shard number"));
  CHECK_THAT(problems, Contains("3 is named twice"));
  CHECK_THAT(problems, Contains("batching.max_batch_cost"));
  CHECK_THAT(problems, Contains("shard: "));
  CHECK_THAT(problems, Contains("rows") && Contains("tape"));
}

}  // namespace
}  // namespace sightline
