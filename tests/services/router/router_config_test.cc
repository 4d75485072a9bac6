#include "services/router/router_config.h"

#include <string>
#include <vector>

#include "tests/support/catch.h"

namespace sightline {
namespace {

using Catch::Contains;

absl::StatusOr<RouterConfig> Read(absl::string_view text) {
  absl::StatusOr<ConfigFile> file = ConfigFile::Parse(text, "test.yaml");
  REQUIRE(file.status() == absl::OkStatus());
  return ReadRouterConfig(&*file);
}

std::string ProblemsOf(absl::string_view text) {
  const absl::Status status = Read(text).status();
  CHECK(absl::IsInvalidArgument(status));
  return std::string(status.message());
}

constexpr char kLeast[] = R"(
encoders: [e:1]
indexes:
  images: {shards: [{addresses: [s:1, s:2]}, {addresses: [t:1]}]}
)";

TEST_CASE("encoders and shards are enough") {
  const auto config = Read(kLeast);
  REQUIRE(config.status() == absl::OkStatus());
  CHECK(config->server.listen == "0.0.0.0:7400");
  CHECK(config->backends.encoders == Addresses{"e:1"});
  CHECK(config->backends.rerankers.empty());
  CHECK(config->backends.indexes.at("images") == std::vector<Addresses>{{"s:1", "s:2"}, {"t:1"}});
  CHECK(config->retriever.default_depth == RetrieverOptions{}.default_depth);
  CHECK(config->poll_interval == absl::Milliseconds(500));
  CHECK(config->start_grace == absl::Seconds(10));
  CHECK(config->dead_after == absl::Seconds(10));
  CHECK(config->resolve_interval == absl::Seconds(2));
  CHECK(config->ready_share == 0.5);
  CHECK(config->page_token_lifetime == absl::Minutes(10));
  CHECK(config->restored_after == absl::Minutes(2));
  CHECK(config->retriever.lower_effort);
  CHECK(config->cache.max_embedding_bytes == 64 << 20);
  CHECK(config->cache.max_score_bytes == 16 << 20);
  CHECK(config->cache.max_result_bytes == 64 << 20);
  CHECK(config->replicas.budget.burst == 256);
  CHECK(!config->replicas.hedge);
}

TEST_CASE("what the file says counts") {
  const auto config = Read(std::string(kLeast) + R"(
rerankers: [r:1]
rerank: {default_depth: 5, max_depth: 50, slice: 7, parallelism: 3, fit_depth: false}
search: {lower_effort: false}
limits: {max_text_bytes: 1KiB, max_image_bytes: 2MiB, max_pairs: 9, max_get_items: 8}
budget: {encode: 1, search: 2, rerank: 3, reserve: 0.2, min_reserve: 1ms, max_reserve: 9ms}
polling: {interval: 1s, timeout: 2s, start_grace: 3s, dead_after: 5s}
resolve_interval: 5s
cache: {max_embedding_bytes: 3MiB, max_score_bytes: 2MiB, max_result_bytes: 0}
generations: {ready_share: 0.75, page_token_lifetime: 4m, restored_after: 30s}
replicas:
  avoid_for: 6s
  max_attempts: 2
  patience: 0.3
  max_patience: 7s
  hedge: true
  retry_budget: {share: 0.1, per_second: 8, burst: 9, reserve: 0.6}
)");
  REQUIRE(config.status() == absl::OkStatus());
  CHECK(config->backends.rerankers == Addresses{"r:1"});
  CHECK(config->retriever.default_depth == 5);
  CHECK(config->retriever.max_depth == 50);
  CHECK(config->retriever.rerank_slice == 7);
  CHECK(config->retriever.rerank_parallelism == 3);
  CHECK(!config->retriever.fit_depth);
  CHECK(!config->retriever.lower_effort);
  CHECK(config->retriever.max_text_bytes == 1024);
  CHECK(config->retriever.max_image_bytes == 2 << 20);
  CHECK(config->retriever.max_pairs == 9);
  CHECK(config->retriever.max_get_items == 8);
  CHECK(config->cache.max_embedding_bytes == 3 << 20);
  CHECK(config->cache.max_score_bytes == 2 << 20);
  CHECK(config->cache.max_result_bytes == 0);
  CHECK(config->budget.encode == 1);
  CHECK(config->budget.search == 2);
  CHECK(config->budget.rerank == 3);
  CHECK(config->budget.reserve == 0.2);
  CHECK(config->budget.max_reserve == absl::Milliseconds(9));
  CHECK(config->poll_interval == absl::Seconds(1));
  CHECK(config->poll_timeout == absl::Seconds(2));
  CHECK(config->start_grace == absl::Seconds(3));
  CHECK(config->dead_after == absl::Seconds(5));
  CHECK(config->resolve_interval == absl::Seconds(5));
  CHECK(config->ready_share == 0.75);
  CHECK(config->page_token_lifetime == absl::Minutes(4));
  CHECK(config->restored_after == absl::Seconds(30));
  CHECK(config->replicas.avoid_for == absl::Seconds(6));
  CHECK(config->replicas.max_attempts == 2);
  CHECK(config->replicas.patience == 0.3);
  CHECK(config->replicas.max_patience == absl::Seconds(7));
  CHECK(config->replicas.hedge);
  CHECK(config->replicas.budget.share == 0.1);
  CHECK(config->replicas.budget.per_second == 8);
  CHECK(config->replicas.budget.burst == 9);
  CHECK(config->replicas.budget.reserve == 0.6);
}

TEST_CASE("addresses and names may be mixed") {
  const auto config = Read(R"(
encoders: ["dns:///encoders.fleet:7401", e:1]
indexes: {images: {shards: [{addresses: ["dns:///shard-0:7402"]}]}}
)");
  REQUIRE(config.status() == absl::OkStatus());
  CHECK(config->backends.encoders == Addresses{"dns:///encoders.fleet:7401", "e:1"});
  CHECK_THAT(ProblemsOf(R"(
encoders: ["dns:///encoders"]
indexes: {images: {shards: [{addresses: ["dns:///:1"]}]}}
)"),
             Contains("'dns:///encoders' is no address") && Contains("'dns:///:1' is no address"));
}

TEST_CASE("all problems are said at once") {
  const std::string problems = ProblemsOf(R"(
encoders: [e:1, e:1]
indexes:
  Images: {shards: [{addresses: []}]}
  captions: {}
rerank: {default_depth: 30, max_depth: 20, slice: 0}
limits: {max_pairs: 1025}
budget: {encode: 0, reserve: 0.95, min_reserve: 9ms, max_reserve: 1ms}
polling: {interval: 1ms}
generations: {ready_share: 1.5}
replicas: {patience: 2, retry_budget: {share: -1}}
retries: 3
)");
  for (const char* expected :
       {"'e:1' is named twice", "'Images' is no index name", "addresses", "indexes.captions.shards",
        "rerank.default_depth", "rerank.slice", "limits.max_pairs", "budget.encode",
        "budget.reserve", "budget.min_reserve", "polling.interval", "generations.ready_share",
        "replicas.patience", "replicas.retry_budget.share", "retries"}) {
    CHECK_THAT(problems, Contains(expected));
  }
}

TEST_CASE("one late poll may not look like death") {
  const auto with = [](const std::string& polling) {
    return ProblemsOf(std::string(kLeast) + "polling: " + polling + "\n");
  };
  CHECK_THAT(with("{interval: 1s, timeout: 2s, dead_after: 4999ms}"),
             Contains("polling.dead_after: is below three intervals and a timeout, 5s"));
}

TEST_CASE("a retry budget that can never pay for slow calls is refused") {
  const auto with = [](const std::string& replicas) {
    return ProblemsOf(std::string(kLeast) + "replicas: " + replicas + "\n");
  };
  CHECK_THAT(with("{retry_budget: {burst: 4, reserve: 0.8}}"), Contains("retry_budget.reserve"));
  CHECK_THAT(with("{retry_budget: {reserve: 1}}"), Contains("retry_budget.reserve"));
  for (const char* budget : {"{burst: 5, reserve: 0.8}", "{burst: 0}"}) {
    CHECK(Read(std::string(kLeast) + "replicas: {retry_budget: " + budget + "}\n").ok());
  }
  CHECK(Read(std::string(kLeast) + "server: {max_concurrent_calls: 1}\n").ok());
}

TEST_CASE("without encoders or indexes there is nothing to route") {
  const std::string problems = ProblemsOf("");
  CHECK_THAT(problems, Contains("encoders"));
  CHECK_THAT(problems, Contains("indexes"));
}

TEST_CASE("an address has one role") {
  const std::string problems = ProblemsOf(R"(
encoders: [a:1]
rerankers: [a:1, b:1]
indexes:
  images: {shards: [{addresses: [b:1]}]}
  captions: {shards: [{addresses: [c:1]}, {addresses: [c:1]}]}
)");
  CHECK_THAT(problems, Contains("rerankers: 'a:1' is among encoders too"));
  CHECK_THAT(problems, Contains("indexes: 'b:1' is among rerankers too"));
  CHECK_THAT(problems, !Contains("c:1"));
}

}  // namespace
}  // namespace sightline
