#include "loadtest/fleet/process_names.h"

#include "tests/support/catch.h"

namespace sightline {

TEST_CASE("processes are named by service and number, the router last") {
  REQUIRE(ProcessNames(/*query_encoders=*/2, /*rerankers=*/1, /*shards=*/2,
                       /*replicas_per_shard=*/2) ==
          std::vector<std::string>{"query_encoder/0", "query_encoder/1", "reranker/0",
                                   "index_search/0/0", "index_search/0/1", "index_search/1/0",
                                   "index_search/1/1", "router"});
}

TEST_CASE("numbers of a target that are left out are 0") {
  const std::vector<std::string> names = ProcessNames(1, 2, 2, 2);
  REQUIRE(*ResolveProcess(names, "router") == "router");
  REQUIRE(*ResolveProcess(names, "reranker") == "reranker/0");
  REQUIRE(*ResolveProcess(names, "reranker/1") == "reranker/1");
  REQUIRE(*ResolveProcess(names, "index_search") == "index_search/0/0");
  REQUIRE(*ResolveProcess(names, "index_search/1") == "index_search/1/0");
  REQUIRE(*ResolveProcess(names, "index_search/1/1") == "index_search/1/1");
}

TEST_CASE("a target that is no process is told with those that are") {
  const std::vector<std::string> names = ProcessNames(1, 1, 1, 1);
  for (const char* target : {"", "rerankers", "reranker/1", "reranker/", "index_search/0/0/0",
                             "index_search/1", "router/0"}) {
    INFO(target);
    const absl::Status refused = ResolveProcess(names, target).status();
    REQUIRE(refused.code() == absl::StatusCode::kInvalidArgument);
    REQUIRE_THAT(std::string(refused.message()), Catch::Contains("index_search/0/0, router"));
  }
}

}  // namespace sightline
