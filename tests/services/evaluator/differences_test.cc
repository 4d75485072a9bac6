#include "services/evaluator/differences.h"

#include <nlohmann/json.hpp>
#include <vector>

#include "tests/support/catch.h"

namespace sightline {
namespace {

Hit HitOf(const char* id, float score) {
  Hit hit;
  hit.item_id = id;
  hit.score = hit.retrieval_score = score;
  return hit;
}

std::string LineOf(const std::vector<Hit>& expected, const std::vector<Hit>& actual) {
  EvaluationQuery query;
  query.item_id = "pictures/7";
  query.text = "a red fish";
  const Agreement agreement = CompareHits(expected, actual, /*grid=*/0);
  return DifferenceLine({Direction::kTextToImage, query, expected, actual, agreement});
}

TEST_CASE("lists that are the same digit for digit have no line") {
  REQUIRE(
      LineOf({HitOf("a", 0.5f), HitOf("b", 0.25f)}, {HitOf("a", 0.5f), HitOf("b", 0.25f)}).empty());
}

TEST_CASE("each place with another item or another score is listed, with what stands there") {
  Hit reranked = HitOf("b", 0.25f);
  reranked.rerank_score = 0.75f;
  const std::string line = LineOf({HitOf("a", 0.5f), HitOf("b", 0.25f), HitOf("c", 0.125f)},
                                  {HitOf("a", 0.5f), reranked});
  REQUIRE(line.back() == '\n');
  const auto json = nlohmann::json::parse(line);
  REQUIRE(json["direction"] == "text_to_image");
  REQUIRE(json["image"] == "pictures/7");
  REQUIRE(json["caption"] == "a red fish");
  REQUIRE(json["lists"] == "different");
  REQUIRE(json["problem"] == "has 2 hits, not 3");
  REQUIRE(json["places"].size() == 2);
  REQUIRE(json["places"][0]["place"] == 2);
  REQUIRE(json["places"][0]["computed"] ==
          nlohmann::json({{"item", "b"}, {"score", 0.25}, {"retrieval_score", 0.25}}));
  REQUIRE(json["places"][0]["answered"]["rerank_score"] == 0.75);
  REQUIRE(json["places"][1]["answered"].is_null());
}

TEST_CASE("what rounding does is told from what is different") {
  const auto kind = [](const std::vector<Hit>& expected, const std::vector<Hit>& actual) {
    const auto json = nlohmann::json::parse(LineOf(expected, actual));
    REQUIRE(!json.contains("problem"));
    return json["lists"].get<std::string>();
  };
  const float near = 0.500001f;
  REQUIRE(kind({HitOf("a", 0.5f)}, {HitOf("a", near)}) == "rounded");
  REQUIRE(kind({HitOf("a", near), HitOf("b", 0.5f)}, {HitOf("b", near), HitOf("a", 0.5f)}) ==
          "tied");
}

}  // namespace
}  // namespace sightline
