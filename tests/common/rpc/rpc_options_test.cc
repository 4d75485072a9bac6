#include "common/rpc/rpc_options.h"

#include <string>

#include "common/config/config.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

using Catch::Contains;

TEST_CASE("What the file does not say is as in the defaults") {
  absl::StatusOr<ConfigFile> file = ConfigFile::Parse("server: {reflection: false}", "s.yaml");
  REQUIRE(file.ok());
  RpcServerOptions defaults;
  defaults.listen = "0.0.0.0:7001";
  defaults.max_concurrent_calls = 9;
  const RpcServerOptions options = ReadRpcServerOptions(file->root(), defaults);
  CHECK(file->Finish().ok());
  CHECK(options.listen == "0.0.0.0:7001");
  CHECK(options.max_concurrent_calls == 9);
  CHECK_FALSE(options.reflection);
}

TEST_CASE("Everything can be set") {
  absl::StatusOr<ConfigFile> file = ConfigFile::Parse(R"(
server:
  listen: 0.0.0.0:7002
  metrics_listen: ""
  max_concurrent_calls: 10
  max_receive_bytes: 8MiB
  max_in_flight_bytes: 24MiB
  memory_quota: 64MiB
  default_deadline: 1s
  max_deadline: 2s
  drain_delay: 3s
  drain_timeout: 4s
  max_connection_age: 7m
  reflection: true
)",
                                                      "s.yaml");
  REQUIRE(file.ok());
  const RpcServerOptions options = ReadRpcServerOptions(file->root());
  const absl::Status status = file->Finish();
  INFO(status);
  CHECK(status.ok());
  CHECK(options.listen == "0.0.0.0:7002");
  CHECK(options.metrics_listen.empty());
  CHECK(options.max_concurrent_calls == 10);
  CHECK(options.max_receive_bytes == 8 << 20);
  CHECK(options.max_in_flight_bytes == 24 << 20);
  CHECK(options.memory_quota_bytes == 64 << 20);
  CHECK(options.default_deadline == absl::Seconds(1));
  CHECK(options.max_deadline == absl::Seconds(2));
  CHECK(options.drain_delay == absl::Seconds(3));
  CHECK(options.drain_timeout == absl::Seconds(4));
  CHECK(options.max_connection_age == absl::Minutes(7));
}

TEST_CASE("Values that cannot work together are named") {
  absl::StatusOr<ConfigFile> file = ConfigFile::Parse(R"(
server:
  listen: nowhere
  metrics_listen: 0.0.0.0:99999
  max_receive_bytes: 512MiB
  default_deadline: 10s
  max_deadline: 2s
)",
                                                      "s.yaml");
  REQUIRE(file.ok());
  ReadRpcServerOptions(file->root());
  const std::string problems(file->Finish().message());
  CHECK_THAT(problems, Contains("s.yaml:3:11: server.listen: wants host:port"));
  CHECK_THAT(problems, Contains("server.metrics_listen: wants host:port"));
  CHECK_THAT(problems, Contains("server.default_deadline: is later than max_deadline"));
  CHECK_THAT(problems,
             Contains("server.max_in_flight_bytes: is less than 3 times max_receive_bytes"));
  CHECK_THAT(problems, Contains("server.memory_quota: is less than twice max_receive_bytes"));
}

}  // namespace
}  // namespace sightline
