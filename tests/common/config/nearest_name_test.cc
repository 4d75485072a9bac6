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

TEST_CASE("another word is nobody's slip") {
  CHECK(NearestName("zebra", kKnown).empty());
  CHECK(NearestName("x", kKnown).empty());  // all of "k" would be wrong
  CHECK(NearestName("", kKnown).empty());
  CHECK(NearestName("name", {}).empty());
  CHECK(NearestName(std::string(65, 'n'), {std::string(65, 'n')}).empty());
}

}  // namespace
}  // namespace sightline
