#include "common/metrics/metrics.h"

#include <limits>
#include <memory>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/metrics/metrics_server.h"
#include "tests/support/catch.h"
#include "tests/support/fake_clock.h"
#include "tests/support/http_get.h"

namespace sightline {
namespace {

using Catch::Contains;

TEST_CASE("Metrics show on the page with prefix, help and labels") {
  MetricsRegistry metrics;
  Counter hits = metrics.AddCounter("hits_total", "Answers from the cache.", {{"kind", "text"}});
  Gauge depth = metrics.AddGauge("queue_depth", "Items waiting.");
  hits.Increment();
  hits.Increment(2);
  depth.Set(5);
  depth.Add(-2);
  const std::string page = metrics.Render();
  CHECK_THAT(page, Contains("# HELP sightline_hits_total Answers from the cache."));
  CHECK_THAT(page, Contains("# TYPE sightline_hits_total counter"));
  CHECK_THAT(page, Contains("sightline_hits_total{kind=\"text\"} 3"));
  CHECK_THAT(page, Contains("sightline_queue_depth 3"));
}

TEST_CASE("A histogram counts by upper bound; durations are in seconds") {
  MetricsRegistry metrics;
  Histogram latency = metrics.AddHistogram("wait_seconds", "Wait.", {0.1, 1});
  latency.Observe(absl::Milliseconds(100));
  latency.Observe(absl::Milliseconds(500));
  latency.Observe(30.0);
  const std::string page = metrics.Render();
  CHECK_THAT(page, Contains("sightline_wait_seconds_bucket{le=\"0.1\"} 1"));
  CHECK_THAT(page, Contains("sightline_wait_seconds_bucket{le=\"1\"} 2"));
  CHECK_THAT(page, Contains("sightline_wait_seconds_bucket{le=\"+Inf\"} 3"));
  CHECK_THAT(page, Contains("sightline_wait_seconds_sum 30.6"));
}

TEST_CASE("The same name with the same labels is the same series, with others another") {
  MetricsRegistry metrics;
  Counter a = metrics.AddCounter("calls_total", "Calls.", {{"shard", "0"}});
  Counter again = metrics.AddCounter("calls_total", "Calls.", {{"shard", "0"}});
  Counter other = metrics.AddCounter("calls_total", "Calls.", {{"shard", "1"}});
  a.Increment();
  again.Increment();
  CHECK(a.value() == 2);
  CHECK(other.value() == 0);
}

TEST_CASE("A counter never goes down") {
  MetricsRegistry metrics;
  Counter counter = metrics.AddCounter("calls_total", "Calls.");
  counter.Increment(3);
  counter.Increment(-1);
  counter.Increment(std::numeric_limits<double>::quiet_NaN());
  CHECK(counter.value() == 3);
}

TEST_CASE("Handles made by default count nothing") {
  Counter().Increment();
  Gauge().Set(3);
  Histogram().Observe(1.0);
  CHECK(Counter().value() == 0);
  CHECK(Gauge().value() == 0);
}

TEST_CASE("Label values that are not UTF-8 or would break the page are made harmless") {
  MetricsRegistry metrics;
  metrics.AddGauge("index_items", "Items.", {{"index", "a\xFF\"\n"}}).Set(1);
  CHECK_THAT(metrics.Render(), Contains("sightline_index_items{index=\"a\xEF\xBF\xBD\\\"\\n\"} 1"));
}

TEST_CASE("Buckets ascend and cover what they are for") {
  const std::vector<double> latency = LatencyBuckets();
  CHECK(std::is_sorted(latency.begin(), latency.end()));
  CHECK(PowerOfTwoBuckets(5) == std::vector<double>{1, 2, 4, 8});
  CHECK(PowerOfTwoBuckets(8) == std::vector<double>{1, 2, 4, 8});
}

TEST_CASE("The page is served over HTTP on a port of its own") {
  MetricsRegistry metrics;
  metrics.AddCounter("hits_total", "Hits.").Increment();
  absl::StatusOr<std::unique_ptr<MetricsServer>> server =
      MetricsServer::Start(&metrics, "127.0.0.1:0");
  INFO(server.status());
  REQUIRE(server.ok());
  REQUIRE((*server)->port() > 0);
  const std::string page = HttpGet((*server)->port(), "/metrics");
  CHECK_THAT(page, Contains("200 OK"));
  CHECK_THAT(page, Contains("sightline_hits_total 1"));
  CHECK_THAT(HttpGet((*server)->port(), "/other"), Contains("404"));

  const int port = (*server)->port();
  CHECK(MetricsServer::Start(&metrics, absl::StrCat("127.0.0.1:", port)).status().code() ==
        absl::StatusCode::kUnavailable);
  server->reset();
  CHECK_THROWS(HttpGet(port, "/metrics"));
}

TEST_CASE("Connections that say nothing keep nobody from the page") {
  MetricsRegistry metrics;
  const auto server = MetricsServer::Start(&metrics, "127.0.0.1:0");
  REQUIRE(server.ok());
  std::vector<int> silent;
  for (int i = 0; i < 20; ++i) {
    silent.push_back(ConnectTo((*server)->port()));
    REQUIRE(::send(silent.back(), "GET /met", 8, MSG_NOSIGNAL) == 8);
  }
  CHECK_THAT(HttpGet((*server)->port(), "/metrics"), Contains("200 OK"));
  // It did not wait until they were given up: the last of them is still there.
  char byte = 0;
  CHECK(::recv(silent.back(), &byte, 1, MSG_DONTWAIT) < 0);
  for (const int fd : silent) ::close(fd);
}

TEST_CASE("Malformed metrics addresses are refused") {
  MetricsRegistry metrics;
  for (const char* address : {"", "9090", ":9090", "127.0.0.1:", "127.0.0.1:70000",
                              "127.0.0.1:1,127.0.0.1:2", "127.0.0.1:1s", "host:name:1"}) {
    INFO(address);
    CHECK(MetricsServer::Start(&metrics, address).status().code() ==
          absl::StatusCode::kInvalidArgument);
  }
}

TEST_CASE("Many threads may count at once") {
  MetricsRegistry metrics;
  Counter counter = metrics.AddCounter("calls_total", "Calls.");
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; ++i) counter.Increment();
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(counter.value() == 4000);
}

}  // namespace
}  // namespace sightline
