#include "common/evaluation/relevance.h"

#include <random>
#include <set>

#include "absl/strings/str_cat.h"
#include "common/dataset/caption_rule.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

Relevance Build(const std::vector<ItemRecord>& captions) {
  const auto relevance = Relevance::Build(captions, "en");
  REQUIRE(relevance.ok());
  return *relevance;
}

// "a" and "b" show the same fish; "c" has the shared words as its second caption.
Relevance Fishes() {
  return Build({{"a#en-1", "A red fish!"},
                {"a#en-2", "sea"},
                {"b#en-1", "a Red  fish"},
                {"c#en-2", "a red fish"},
                {"c#en-1", "animal"},
                {"d#de-1", "a red fish"},
                {"e#en-1", "house"}});
}

TEST_CASE("ids of captions are taken apart, and what is none is refused") {
  const auto id = ParseCaptionId("a#b-c#zh-Hant-12");
  REQUIRE(id.ok());
  REQUIRE(id->image_id == "a#b-c");
  REQUIRE(id->language == "zh-Hant");
  REQUIRE(id->n == 12);
  for (const char* bad : {"", "a", "#en-1", "a#en", "a#-1", "a#en-", "a#en-0", "a#en-x", "a-1#en",
                          "a#en-99999999999"}) {
    INFO(bad);
    REQUIRE_FALSE(ParseCaptionId(bad).ok());
  }
  REQUIRE_FALSE(Relevance::Build({{"nonsense", "fish"}}, "en").ok());
}

TEST_CASE("as the papers count every caption asks, and its own picture alone is right") {
  const auto built = Relevance::Build({{"a#en-2", "sea"},
                                       {"b#en-1", "a red fish"},
                                       {"a#en-1", "a red fish"},
                                       {"a#de-1", "Fisch"},
                                       {"a#en-10", "!"}},
                                      "en", RelevanceRule::kOwn);
  REQUIRE(built.ok());
  const std::vector<EvaluationQuery> texts = built->Queries(Direction::kTextToImage);
  REQUIRE(texts.size() == 4);
  const std::vector<std::string> asked = {"a red fish", "sea", "!", "a red fish"};
  for (int i = 0; i < 4; ++i) {
    REQUIRE(texts[i].text == asked[i]);
    REQUIRE(texts[i].item_id == (i < 3 ? "a" : "b"));
    REQUIRE(built->IsRelevant(Direction::kTextToImage, texts[i], "a") == (i < 3));
    REQUIRE(built->IsRelevant(Direction::kTextToImage, texts[i], "b") == (i == 3));
  }
  const std::vector<EvaluationQuery> images = built->Queries(Direction::kImageToText);
  REQUIRE(images.size() == 2);
  for (const char* own : {"a#en-1", "a#en-2", "a#en-10"}) {
    REQUIRE(built->IsRelevant(Direction::kImageToText, images[0], own));
    REQUIRE_FALSE(built->IsRelevant(Direction::kImageToText, images[1], own));
  }
  REQUIRE_FALSE(built->IsRelevant(Direction::kImageToText, images[0], "b#en-1"));
  REQUIRE_FALSE(built->IsRelevant(Direction::kImageToText, images[0], "a#de-1"));
}

TEST_CASE("as many items are said to be right as there are") {
  const std::vector<ItemRecord> captions = {
      {"a#en-1", "A red fish!"}, {"a#en-2", "sea"},        {"a#en-3", "Sea"},
      {"b#en-1", "a Red  fish"}, {"c#en-2", "a red fish"}, {"c#en-1", "animal"},
      {"d#de-1", "a red fish"},  {"e#en-1", "house"},      {"e#en-1", "house"}};
  for (const RelevanceRule rule : {RelevanceRule::kSameWords, RelevanceRule::kOwn}) {
    const auto relevance = Relevance::Build(captions, "en", rule);
    REQUIRE(relevance.ok());
    for (const Direction direction : {Direction::kTextToImage, Direction::kImageToText}) {
      std::set<std::string> ids;
      for (const ItemRecord& caption : captions) {
        ids.insert(direction == Direction::kTextToImage ? ParseCaptionId(caption.item_id)->image_id
                                                        : caption.item_id);
      }
      for (const EvaluationQuery& query : relevance->Queries(direction)) {
        int64_t right = 0;
        for (const std::string& id : ids) {
          right += relevance->IsRelevant(direction, query, id) ? 1 : 0;
        }
        INFO(DirectionName(direction) << " " << query.item_id << " " << query.text);
        REQUIRE(relevance->RelevantCount(direction, query) == right);
        REQUIRE(right >= 1);
      }
    }
  }
}

TEST_CASE("each captioned picture asks by its first caption, whatever order they come in") {
  const std::vector<EvaluationQuery> queries = Fishes().Queries(Direction::kTextToImage);
  REQUIRE(queries.size() == 4);
  REQUIRE(queries[0].item_id == "a");
  REQUIRE(queries[0].text == "A red fish!");
  REQUIRE(queries[2].item_id == "c");
  REQUIRE(queries[2].text == "animal");
  REQUIRE(queries[3].item_id == "e");
}

TEST_CASE("a text is answered by any picture that has this caption among its own") {
  const Relevance fishes = Fishes();
  const std::vector<EvaluationQuery> queries = fishes.Queries(Direction::kTextToImage);
  const auto right = [&](int query, const char* image) {
    return fishes.IsRelevant(Direction::kTextToImage, queries[query], image);
  };
  REQUIRE(right(0, "a"));
  REQUIRE(right(0, "b"));
  REQUIRE(right(0, "c"));
  REQUIRE_FALSE(right(0, "d"));  // has it in another language only
  REQUIRE_FALSE(right(0, "e"));
  REQUIRE_FALSE(right(0, "unknown"));
  // "a" has the second caption "sea", which no text here asks for.
  REQUIRE(right(2, "c"));
  REQUIRE_FALSE(right(2, "a"));
}

TEST_CASE("the pictures that are right for a text are listed") {
  const Relevance fishes = Fishes();
  const std::vector<EvaluationQuery> queries = fishes.Queries(Direction::kTextToImage);
  const auto images = fishes.RelevantImages(queries);
  REQUIRE(images.size() == 4);
  REQUIRE(images[0] == std::vector<std::string>{"a", "b", "c"});
  REQUIRE(images[1] == images[0]);
  REQUIRE(images[2] == std::vector<std::string>{"c"});
  REQUIRE(images[3] == std::vector<std::string>{"e"});
}

TEST_CASE("a picture is answered by any caption that is the same as one of its own") {
  const Relevance fishes = Fishes();
  const std::vector<EvaluationQuery> queries = fishes.Queries(Direction::kImageToText);
  const auto right = [&](int query, const char* caption) {
    return fishes.IsRelevant(Direction::kImageToText, queries[query], caption);
  };
  REQUIRE(right(0, "a#en-1"));
  REQUIRE(right(0, "a#en-2"));
  REQUIRE(right(0, "b#en-1"));
  REQUIRE(right(0, "c#en-2"));
  REQUIRE_FALSE(right(0, "c#en-1"));
  REQUIRE_FALSE(right(0, "d#de-1"));
  REQUIRE(right(1, "c#en-2"));
  REQUIRE_FALSE(right(1, "a#en-2"));
}

TEST_CASE("captions without words are right for themselves alone") {
  const Relevance marks = Build({{"a#en-1", "!!!"}, {"b#en-1", "???"}, {"c#en-1", "!!!"}});
  const std::vector<EvaluationQuery> queries = marks.Queries(Direction::kTextToImage);
  REQUIRE(marks.IsRelevant(Direction::kTextToImage, queries[0], "a"));
  REQUIRE(marks.IsRelevant(Direction::kTextToImage, queries[0], "c"));
  REQUIRE_FALSE(marks.IsRelevant(Direction::kTextToImage, queries[0], "b"));
}

TEST_CASE("comparing all texts with all gives the same answers") {
  std::mt19937 random(5);
  const char* const words[] = {"fish", "Fish", "fish!", "red fish", "sea", "the sea", ""};
  for (int round = 0; round < 20; ++round) {
    struct Known {
      std::string image, id, text;
      int n;
    };
    std::vector<Known> all;
    std::vector<ItemRecord> captions;
    for (int image = 0; image < 12; ++image) {
      for (int n = 1; n <= static_cast<int>(random() % 4); ++n) {
        const std::string name = absl::StrCat("image-", image);
        all.push_back({name, absl::StrCat(name, "#en-", n), words[random() % 6], n});
        captions.push_back({all.back().id, all.back().text});
      }
    }
    const Relevance relevance = Build(captions);
    for (const EvaluationQuery& query : relevance.Queries(Direction::kTextToImage)) {
      for (const Known& hit : all) {
        bool any = false;
        for (const Known& known : all) {
          any = any || (known.image == hit.image &&
                        NormalizeWords(known.text) == NormalizeWords(query.text));
        }
        REQUIRE(relevance.IsRelevant(Direction::kTextToImage, query, hit.image) == any);
      }
    }
    for (const EvaluationQuery& query : relevance.Queries(Direction::kImageToText)) {
      for (const Known& hit : all) {
        bool any = false;
        for (const Known& known : all) {
          any = any || (known.image == query.item_id &&
                        NormalizeWords(known.text) == NormalizeWords(hit.text));
        }
        REQUIRE(relevance.IsRelevant(Direction::kImageToText, query, hit.id) == any);
      }
    }
  }
}

}  // namespace
}  // namespace sightline
