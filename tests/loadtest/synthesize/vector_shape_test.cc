#include "loadtest/synthesize/vector_shape.h"

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

std::string Document(const VectorShape& shape) {
  return absl::StrCat("{\"measured\": 1, \"shape\": ", VectorShapeJson(shape), "}");
}

TEST_CASE("a law is one power of the rank in each stretch, without a step between them") {
  RankLaw law;
  law.head = 3;
  law.exponents = {0.5, 1, 2};
  REQUIRE(law.At(1) == Approx(3));
  REQUIRE(law.At(4) == Approx(1.5));
  REQUIRE(law.At(16) == Approx(0.75));
  REQUIRE(law.At(32) == Approx(0.375));
  REQUIRE(law.At(64) == Approx(0.1875));
  REQUIRE(law.At(128) == Approx(0.1875 / 4));
  REQUIRE(law.At(1024) == Approx(0.1875 / 256));
}

TEST_CASE("a shape survives its JSON") {
  VectorShape shape;
  shape.items = {2, {0.25, 0.5, 1.75}};
  shape.queries = {0.125, {-0.5, 0, 4}};
  shape.shared = {0.75, {0, 1, 2}};
  shape.item_mean = 0.25;
  shape.query_mean = 0.5;
  shape.mean_cosine = -0.75;
  shape.own_share = 0.375;
  shape.group_share = 0.625;
  const auto read = ParseVectorShape(Document(shape));
  INFO(read.status());
  REQUIRE(read.ok());
  REQUIRE(VectorShapeJson(*read) == VectorShapeJson(shape));
  REQUIRE(read->queries.exponents == shape.queries.exponents);
  REQUIRE(read->mean_cosine == -0.75);
}

TEST_CASE("what is no shape is refused with what is wrong") {
  const std::string good = Document(DemoShape());
  REQUIRE(ParseVectorShape(good).ok());
  const std::string items = absl::StrCat("\"items\":{\"head\":", DemoShape().items.head);
  const std::string exponents =
      absl::StrCat("[", DemoShape().items.exponents[0], ",", DemoShape().items.exponents[1], ",",
                   DemoShape().items.exponents[2]);
  REQUIRE(absl::StrContains(good, exponents));
  const std::vector<std::pair<std::string, std::string>> bad = {
      {"", "no JSON"},
      {"[]", "no JSON"},
      {"{\"shape\": 3}", "no JSON"},
      {"{\"shape\": {}}", "no object 'items'"},
      {absl::StrReplaceAll(good, {{items, "\"items\":{\"head\":0"}}), "'head' is 0"},
      {absl::StrReplaceAll(good, {{items, "\"items\":{\"head\":\"x\""}}), "no number 'head'"},
      {absl::StrReplaceAll(good, {{"exponents\":[", "exponents\":[1,"}}), "no three 'exponents'"},
      {absl::StrReplaceAll(
           good, {{exponents, absl::StrReplaceAll(exponents, {{",", "0,"}, {"[", "[9"}})}}),
       "not -1 to 4"},
      {absl::StrReplaceAll(good, {{"item_mean\":", "item_mean\":4"}}), "'item_mean' is 4"},
      {absl::StrReplaceAll(good, {{"own_share\":", "own_share\":-"}}), "'own_share' is -"},
      {absl::StrReplaceAll(good, {{"group_share", "groups"}}), "no number 'group_share'"},
      {good.substr(0, good.size() - 1), "no JSON"},
  };
  for (const auto& [json, problem] : bad) {
    const absl::Status status = ParseVectorShape(json).status();
    CAPTURE(json, problem, std::string(status.message()));
    REQUIRE(absl::IsInvalidArgument(status));
    REQUIRE(absl::StrContains(status.message(), problem));
  }
}

// What makes queries queries: DemoShape() is not one of PowerShape's kind.
TEST_CASE("the demo's queries are neither centred nor spread as its items are") {
  const VectorShape& demo = DemoShape();
  REQUIRE(demo.mean_cosine < 0.9);
  REQUIRE(demo.query_mean > 0.1);
  REQUIRE(demo.queries.exponents[2] < demo.items.exponents[2]);
  REQUIRE(demo.shared.At(128) < 0.5 * demo.shared.At(1));
  REQUIRE(demo.shared.At(16) <= 1);
}

}  // namespace
}  // namespace sightline
