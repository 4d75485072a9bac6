#include "common/config/sections.h"

#include <cstdlib>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/object_store/mirror.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

using Catch::Contains;

ConfigFile Parsed(absl::string_view text) {
  absl::StatusOr<ConfigFile> file = ConfigFile::Parse(text, "test.yaml");
  REQUIRE(file.status() == absl::OkStatus());
  return *std::move(file);
}

std::string Problems(ConfigFile* file) {
  return std::string(file->status().message());
}

TEST_CASE("a store needs its folder and indexes") {
  ConfigFile file = Parsed("store: /data\nindexes: [a, b]\nverify: false\n");
  const StoreConfig store = ReadStoreConfig(file.root());
  CHECK(file.Finish() == absl::OkStatus());
  CHECK(store.store == "/data");
  CHECK(store.indexes == std::vector<std::string>{"a", "b"});
  CHECK(!store.verify);

  ConfigFile empty = Parsed("indexes: []");
  ReadStoreConfig(empty.root());
  CHECK_THAT(Problems(&empty), Contains("store") && Contains("indexes"));
}

TEST_CASE("what can be no index, or is named twice, is said before a server starts") {
  ConfigFile file = Parsed("store: /data\nindexes: [a, B/.., c, a]\n");
  ReadStoreConfig(file.root());
  CHECK_THAT(Problems(&file), Contains("'B/..' is no index name"));
  CHECK_THAT(Problems(&file), Contains("'a' is there twice"));
  CHECK_THAT(Problems(&file), !Contains("'c'"));
}

// Variables of the process's environment, as long as it lives.
class Variables {
 public:
  explicit Variables(std::map<std::string, std::string> values) : values_(std::move(values)) {
    for (const auto& [name, value] : values_) ::setenv(name.c_str(), value.c_str(), 1);
  }
  ~Variables() {
    for (const auto& [name, value] : values_) ::unsetenv(name.c_str());
  }

 private:
  const std::map<std::string, std::string> values_;
};

const std::map<std::string, std::string> kKeys = {{"AWS_ACCESS_KEY_ID", "id"},
                                                  {"AWS_SECRET_ACCESS_KEY", "secret"}};

TEST_CASE("without an object store the folder is the store") {
  ConfigFile file = Parsed("store: /data\nindexes: [a]\n");
  const GenerationOptions options =
      ReadGenerationOptions(file.root(), ReadStoreConfig(file.root()));
  CHECK(file.Finish() == absl::OkStatus());
  REQUIRE(options.source != nullptr);
  CHECK(dynamic_cast<Mirror*>(options.source.get()) == nullptr);
}

TEST_CASE("an object store fills the folder, whether the file or the environment names it") {
  Variables keys(kKeys);
  const bool by_file = GENERATE(true, false);
  if (!by_file) ::setenv("SIGHTLINE_OBJECT_STORE", "s3://bucket/folder", 1);
  ConfigFile file = Parsed(absl::StrCat(
      "store: /data\nindexes: [a]\n",
      by_file ? "object_store: {url: \"s3://bucket/folder\", endpoint: \"http://minio:9000\", "
                "max_cache_bytes: 1GiB, connections: 2}\n"
              : ""));
  const GenerationOptions options =
      ReadGenerationOptions(file.root(), ReadStoreConfig(file.root()));
  ::unsetenv("SIGHTLINE_OBJECT_STORE");
  CHECK(file.Finish() == absl::OkStatus());
  CHECK(dynamic_cast<Mirror*>(options.source.get()) != nullptr);
}

TEST_CASE("an object store that cannot be one is refused before a server starts") {
  const auto problems = [](const char* section) {
    ConfigFile file = Parsed(absl::StrCat("object_store: ", section));
    CHECK(ReadObjectStoreConfig(file.root()).store == nullptr);
    return Problems(&file);
  };
  CHECK_THAT(problems("{url: \"s3://bucket\"}"), Contains("AWS_ACCESS_KEY_ID"));
  Variables keys(kKeys);
  CHECK_THAT(problems("{connections: 4}"), Contains("object_store.url"));
  CHECK_THAT(problems("{url: \"http://bucket\"}"), Contains("http://bucket"));
  CHECK_THAT(problems("{url: \"s3://bucket\", endpoint: minio}"), Contains("minio"));
  const std::map<std::string, std::string> endpoint = {{"AWS_ENDPOINT_URL_S3", "minio"}};
  Variables with_endpoint(endpoint);
  CHECK_THAT(problems("{url: \"s3://bucket\"}"),
             Contains("$AWS_ENDPOINT_URL_S3") && !Contains("object_store.url"));
  const std::map<std::string, std::string> url = {{"SIGHTLINE_OBJECT_STORE", "bucket"}};
  Variables with_url(url);
  CHECK_THAT(problems("{}"), Contains("$SIGHTLINE_OBJECT_STORE") && !Contains("object_store.url"));
}

TEST_CASE("computing takes the cores that there are") {
  ConfigFile file = Parsed("");
  const ComputeConfig compute = ReadComputeConfig(file.root());
  CHECK(compute.threads >= 1);
  CHECK(!compute.deterministic);
  ConfigFile bad = Parsed("compute: {threads: 1025}");
  ReadComputeConfig(bad.root());
  CHECK_THAT(Problems(&bad), Contains("compute.threads"));
}

TEST_CASE(
    "a precision is the fastest that agrees, unless the same bits are wanted or it is named") {
  const auto read = [](const std::string& yaml) {
    ConfigFile file = Parsed(yaml);
    const PrecisionOptions options =
        ReadPrecisionOptions(file.root(), ReadComputeConfig(file.root()));
    CHECK(file.Finish() == absl::OkStatus());
    return options;
  };
  CHECK(read("").policy.precision == "fastest");
  CHECK(read("").policy.least_agreement == 0.98);
  CHECK(read("compute: {deterministic: true}").policy.precision == "float32");
  const PrecisionOptions named = read(
      "state_dir: /state\n"
      "compute: {deterministic: true, precision: int8, least_agreement: 0.9, reports: /reports}");
  CHECK(named.policy.precision == "int8");
  CHECK(named.policy.least_agreement == 0.9);
  CHECK(named.reports == "/reports");
  CHECK(named.state_dir == "/state");
  ConfigFile bad = Parsed("compute: {precision: int4, least_agreement: 2}");
  ReadPrecisionOptions(bad.root(), {});
  const std::string problems = Problems(&bad);
  CHECK_THAT(problems, Contains("compute.precision") && Contains("bfloat16"));
  CHECK_THAT(problems, Contains("compute.least_agreement"));
}

TEST_CASE("a job's precision is named, and float32 unless it is") {
  const auto read = [](const std::string& yaml) {
    ConfigFile file = Parsed(yaml);
    const PrecisionOptions options = ReadJobPrecisionOptions(file.root());
    CHECK(file.Finish() == absl::OkStatus());
    return options.policy.precision;
  };
  CHECK(read("") == "float32");
  CHECK(read("compute: {precision: bfloat16}") == "bfloat16");
  ConfigFile bad = Parsed("compute: {precision: fastest}");
  ReadJobPrecisionOptions(bad.root());
  CHECK_THAT(Problems(&bad), Contains("compute.precision"));
}

TEST_CASE("a queue is as the server would have it, but for what the file says") {
  BatchSchedulerOptions defaults;
  defaults.max_batch_cost = 11;
  defaults.max_batch_size = 12;
  defaults.max_queue_cost = 13;
  defaults.max_age = absl::Milliseconds(14);
  defaults.workers = 15;
  ConfigFile file = Parsed("texts: {max_batch_size: 2, max_age: 1s}");
  const BatchSchedulerOptions options = ReadBatchSchedulerOptions(file.root(), "texts", defaults);
  CHECK(file.Finish() == absl::OkStatus());
  CHECK(options.max_batch_cost == 11);
  CHECK(options.max_batch_size == 2);
  CHECK(options.max_queue_cost == 13);
  CHECK(options.max_age == absl::Seconds(1));
  CHECK(options.workers == 15);
}

TEST_CASE("a queue that no full batch fits into is refused, by whichever key") {
  BatchSchedulerOptions defaults;
  defaults.max_batch_cost = 10;
  defaults.max_queue_cost = 20;
  for (const char* text : {"texts: {max_batch_cost: 21}", "texts: {max_queue_cost: 9}"}) {
    ConfigFile file = Parsed(text);
    ReadBatchSchedulerOptions(file.root(), "texts", defaults);
    CHECK_THAT(Problems(&file), Contains("texts.max_queue_cost"));
  }
  ConfigFile file = Parsed("texts: {max_batch_cost: 20, workers: 0, max_batch_size: 0}");
  ReadBatchSchedulerOptions(file.root(), "texts", defaults);
  CHECK_THAT(Problems(&file), Contains("texts.workers") && Contains("texts.max_batch_size") &&
                                  !Contains("max_queue_cost"));
}

}  // namespace
}  // namespace sightline
