#include "common/evaluation/score_origin.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

MatrixItems Items() {
  MatrixItems items;
  items.images = {"a", "b"};
  items.families = {0, 1};
  items.family_count = 2;
  items.captions = {{"a#en-1", 0, "en"}, {"b#en-1", 1, "en"}};
  return items;
}

TEST_CASE("a file says what scores are, or does not") {
  REQUIRE_FALSE(ParseScoreOrigin("{}", Items())->kind.has_value());
  REQUIRE(ParseScoreOrigin(R"({"score_kind": "sigmoid", "x": 1})", Items())->kind ==
          ScoreKind::kSigmoid);
  REQUIRE(
      ParseScoreOrigin(absl::StrCat(R"({"items": ")", ItemsDigest(Items()), "\"}"), Items()).ok());
}

TEST_CASE("a digest is of ids, their order and whose captions are, and of nothing else") {
  const std::string digest = ItemsDigest(Items());
  MatrixItems items = Items();
  items.families = {0, 0};
  items.family_count = 1;
  items.places = {7, 8};
  items.captions[0].shared_words = 3;
  REQUIRE(ItemsDigest(items) == digest);
  MatrixItems renamed = Items();
  renamed.captions[0].id = "a#de-1";
  MatrixItems turned = Items();
  std::swap(turned.images[0], turned.images[1]);
  MatrixItems moved = Items();
  moved.captions[1].image = 0;
  MatrixItems more = Items();
  more.images.emplace_back("c");
  for (const MatrixItems& other : {renamed, turned, moved, more}) {
    REQUIRE(ItemsDigest(other) != digest);
  }
}

TEST_CASE("a file that says something else is refused") {
  const auto problem = [](const std::string& text) {
    const absl::StatusOr<ScoreOrigin> origin = ParseScoreOrigin(text, Items());
    REQUIRE(origin.status().code() == absl::StatusCode::kInvalidArgument);
    return std::string(origin.status().message());
  };
  REQUIRE_THAT(problem("[]"), Catch::Contains("is no JSON object"));
  REQUIRE(problem(R"({"score_kind": 1})") == "\"score_kind\" is no text");
  REQUIRE_THAT(problem(R"({"score_kind": "x"})"), Catch::Contains("\"score_kind\": "));
  REQUIRE(problem(R"({"items": []})") == "\"items\" is no text");
  REQUIRE_THAT(problem(R"({"items": "0"})"), Catch::Contains("other pictures or captions"));
}

}  // namespace
}  // namespace sightline
