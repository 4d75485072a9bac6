#include "common/rpc/rpc_options.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/base/limits.h"
#include "common/rpc/request_memory.h"

namespace sightline {
namespace {

bool IsHostPort(absl::string_view address) {
  const size_t colon = address.rfind(':');
  int port = -1;
  return colon != absl::string_view::npos && colon > 0 &&
         absl::SimpleAtoi(address.substr(colon + 1), &port) && port >= 0 && port <= 65535;
}

std::string ReadAddress(ConfigReader server, absl::string_view name, const std::string& otherwise,
                        bool may_be_empty) {
  const std::string address = server.String(name, otherwise);
  if (!(may_be_empty && address.empty()) && !IsHostPort(address)) {
    server.AddProblem(name, "wants host:port, like 0.0.0.0:7001");
  }
  return address;
}

}  // namespace

RpcServerOptions ReadRpcServerOptions(ConfigReader root, const RpcServerOptions& defaults) {
  ConfigReader server = root.Section("server");
  RpcServerOptions options;
  options.listen = ReadAddress(server, "listen", defaults.listen, /*may_be_empty=*/false);
  options.metrics_listen =
      ReadAddress(server, "metrics_listen", defaults.metrics_listen, /*may_be_empty=*/true);
  options.max_concurrent_calls = static_cast<int>(server.Int(
      "max_concurrent_calls", defaults.max_concurrent_calls, 1, limits::kMaxConcurrentCalls));
  options.max_receive_bytes =
      server.Bytes("max_receive_bytes", defaults.max_receive_bytes, 1 << 10, 1 << 30);
  options.max_in_flight_bytes =
      server.Bytes("max_in_flight_bytes", defaults.max_in_flight_bytes, 1 << 10, int64_t{1} << 40);
  options.memory_quota_bytes = server.Bytes("memory_quota", defaults.memory_quota_bytes,
                                            int64_t{16} << 20, int64_t{1} << 40);
  options.default_deadline = server.Duration("default_deadline", defaults.default_deadline,
                                             absl::Milliseconds(1), absl::Hours(1));
  options.max_deadline =
      server.Duration("max_deadline", defaults.max_deadline, absl::Milliseconds(1), absl::Hours(1));
  options.drain_delay =
      server.Duration("drain_delay", defaults.drain_delay, absl::ZeroDuration(), absl::Minutes(5));
  options.drain_timeout = server.Duration("drain_timeout", defaults.drain_timeout,
                                          absl::ZeroDuration(), absl::Hours(1));
  options.max_connection_age = server.Duration("max_connection_age", defaults.max_connection_age,
                                               absl::Seconds(1), absl::Hours(24));
  options.reflection = server.Bool("reflection", defaults.reflection);

  if (options.default_deadline > options.max_deadline) {
    server.AddProblem("default_deadline", "is later than max_deadline");
  }
  if (options.max_in_flight_bytes < kMostCopies * options.max_receive_bytes) {
    server.AddProblem("max_in_flight_bytes",
                      absl::StrCat("is less than ", kMostCopies,
                                   " times max_receive_bytes; the longest request, of regions, "
                                   "could never be taken"));
  }
  if (options.memory_quota_bytes < 2 * options.max_receive_bytes) {
    server.AddProblem("memory_quota", "is less than twice max_receive_bytes");
  }
  return options;
}

}  // namespace sightline
