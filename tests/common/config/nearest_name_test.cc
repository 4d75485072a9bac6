#include "common/config/nearest_name.h"

#include <string>
#include <vector>

#include "tests/support/catch.h"

namespace sightline {
namespace {

const std::vector<std::string> kKnown = {"listen", "max_threads", "name", "top_k", "k"};

TEST_CASE("a slip of the fingers finds the name that was meant") {
  CHECK(NearestName("nmae", kKnown) == "name");
  CHECK(NearestName("topk", kKnown) == "top_k");
  CHECK(NearestName("max_thraeds", kKnown) == "max_threads");
  CHECK(NearestName("maxthreds", kKnown) == "max_threads");
  CHECK(NearestName("name", kKnown) == "name");
}

TEST_CASE("the nearest name is at most two slips away") {
  REQUIRE(NearestName("qurey", {"query", "status"}) == "query");
  REQUIRE(NearestName("stat", {"query", "status"}) == "status");
  REQUIRE(NearestName("publish", {"query", "status"}).empty());
  REQUIRE(NearestName("xy", {"ab"}).empty());
  REQUIRE(NearestName(std::string(10000, 'q'), {"query"}).empty());
}

TEST_CASE("a long name may have a third of its letters wrong") {
  CHECK(NearestName("max_batch_coats", {"max_batch_cost"}) == "max_batch_cost");
  CHECK(NearestName("mx_bach_cst", {"max_batch_cost"}) == "max_batch_cost");
}

TEST_CASE("another word is nobody's slip") {
  CHECK(NearestName("zebra", kKnown).empty());
  CHECK(NearestName("x", kKnown).empty());  // all of "k" would be wrong
  CHECK(NearestName("", kKnown).empty());
  CHECK(NearestName("name", {}).empty());
  CHECK(NearestName(std::string(65, 'n'), {std::string(65, 'n')}).empty());
}

}  // namespace
}  // namespace sightline
