#include "common/evaluation/method.h"

#include "tests/support/catch.h"

namespace sightline {
namespace {

TEST_CASE("combinations are replace, both sums with every lambda, and the declared one") {
  const Combination known = {CombinationKind::kNormAddLambda, 0.3f};
  REQUIRE(AllCombinations({0.1f, 0.3f}, known).size() == 5);
  const Combination other = {CombinationKind::kNormAddLambda, 0.25f};
  const std::vector<Combination> all = AllCombinations({0.1f, 0.3f}, other);
  REQUIRE(all.size() == 6);
  REQUIRE(CombinationText(all[0]) == "replace");
  REQUIRE(CombinationText(all[1]) == "add_lambda:0.1");
  REQUIRE(CombinationText(all[4]) == "norm_add_lambda:0.3");
  REQUIRE(CombinationText(all[5]) == "norm_add_lambda:0.25");
  REQUIRE(AllCombinations({}, {CombinationKind::kReplace, 0.7f}).size() == 1);
}

TEST_CASE("methods begin with retrieval alone and go depth by depth") {
  const std::vector<Combination> combinations = AllCombinations({0.5f}, {});
  const std::vector<Method> methods = Methods({10, 50}, combinations);
  REQUIRE(methods.size() == 7);
  REQUIRE(MethodText(methods[0]) == "retrieval");
  REQUIRE(methods[0].depth == 0);
  REQUIRE(methods[3].depth == 10);
  REQUIRE(methods[4].depth == 50);
  REQUIRE(MethodText(methods[4]) == "replace");
}

TEST_CASE("the combination tells methods apart only where something is reranked") {
  REQUIRE(SameMethod({0, {CombinationKind::kAddLambda, 0.1f}}, {0, {}}));
  REQUIRE_FALSE(SameMethod({10, {}}, {20, {}}));
}

}  // namespace
}  // namespace sightline
