#include "common/evaluation/item_splits.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/evaluation/json_lines.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

std::string ErrorOf(const std::string& text) {
  const auto splits = ParseItemSplits(text);
  REQUIRE_FALSE(splits.ok());
  return std::string(splits.status().message());
}

TEST_CASE("items and their splits are read, other keys and blank lines passed over") {
  const auto splits = ParseItemSplits(
      "{\"item_id\":\"a\",\"split\":\"train\",\"group\":3,\"captions\":[{\"language\":\"en\"}]}\n"
      "\n"
      "  {\"split\":\"held_out\",\"item_id\":\"b\"}\r\n"
      "{\"item_id\":\"c\",\"split\":\"validation\"}");
  REQUIRE(splits.ok());
  REQUIRE(splits->size() == 3);
  REQUIRE(splits->at("a") == Split::kTrain);
  REQUIRE(splits->at("b") == Split::kHeldOut);
  REQUIRE(splits->at("c") == Split::kValidation);
  REQUIRE(ParseItemSplits("")->empty());
}

TEST_CASE("a malformed line is refused by its number") {
  const std::string good = "{\"item_id\":\"a\",\"split\":\"train\"}\n\n";
  for (const char* bad :
       {"{", "[]", "7", "null", "\"a\"", "{}", "{\"item_id\":\"b\"}", "{\"split\":\"train\"}",
        "{\"item_id\":7,\"split\":\"train\"}", "{\"item_id\":\"\",\"split\":\"train\"}",
        "{\"item_id\":\"b\",\"split\":\"test\"}", "{\"item_id\":\"b\",\"split\":null}",
        "{\"item_id\":\"b\",\"split\":\"all\"}", "{\"item_id\":\"a\",\"split\":\"train\"}",
        "{\"item_id\":\"b\",\"split\":\"train\"} {}",
        "{\"item_id\":\"\xff\",\"split\":\"train\"}"}) {
    INFO(bad);
    REQUIRE(absl::StartsWith(ErrorOf(good + bad), "line 3: "));
  }
}

TEST_CASE("what is too long or too deep is refused") {
  const std::string id(2000, 'x');
  REQUIRE(absl::StrContains(ErrorOf(absl::StrCat("{\"item_id\":\"", id, "\",\"split\":\"train\"}")),
                            "2000 bytes"));
  REQUIRE(absl::StrContains(
      ErrorOf(absl::StrCat("{\"x\":\"", std::string(kMaxJsonLineBytes, 'x'), "\"}")), "the limit"));
  const std::string deep(500000, '[');
  REQUIRE(ErrorOf(deep) == "line 1: not valid JSON");
  REQUIRE(absl::StrContains(ErrorOf(absl::StrCat("{\"x\":", deep, std::string(500000, ']'), "}")),
                            "is missing"));
}

TEST_CASE(
    "a corpus that says the splits of its items gives them, and one that does not is refused") {
  CorpusListing listing;
  listing.items.resize(3);
  for (size_t i = 0; i < 3; ++i) listing.items[i].item_id = absl::StrCat("item/", i);
  REQUIRE(absl::IsInvalidArgument(SaidSplits(listing).status()));
  listing.items[0].split = Split::kHeldOut;
  listing.items[2].split = Split::kTrain;
  const auto splits = SaidSplits(listing);
  REQUIRE(*splits == ItemSplits{{"item/0", Split::kHeldOut}, {"item/2", Split::kTrain}});
}

TEST_CASE("queries are those of the split, and a file that lacks some is told") {
  const std::vector<EvaluationQuery> queries = {{"a", "", {}}, {"b", "", {}}, {"c", "", {}}};
  const ItemSplits splits = {{"a", Split::kTrain},
                             {"b", Split::kHeldOut},
                             {"c", Split::kTrain},
                             {"unknown", Split::kTrain}};
  const auto train = QueriesOf(Split::kTrain, splits, queries);
  REQUIRE(train.ok());
  REQUIRE(train->size() == 2);
  REQUIRE((*train)[1].item_id == "c");
  REQUIRE(QueriesOf(Split::kValidation, splits, queries)->empty());
  const auto lacking = QueriesOf(Split::kTrain, {{"a", Split::kTrain}}, queries);
  REQUIRE(absl::StartsWith(lacking.status().message(),
                           "the splits lack 2 of the 3 captioned items of the index, the first of "
                           "them 'b'"));
}

TEST_CASE("a sample is spread evenly") {
  std::vector<EvaluationQuery> queries;
  for (int i = 0; i < 10; ++i) queries.push_back({absl::StrCat(i), "", {}});
  const std::vector<EvaluationQuery> sample = Sample(queries, 3);
  REQUIRE(sample.size() == 3);
  REQUIRE(sample[0].item_id == "0");
  REQUIRE(sample[1].item_id == "3");
  REQUIRE(sample[2].item_id == "6");
  REQUIRE(Sample(queries, 0).size() == 10);
  REQUIRE(Sample(queries, 11).size() == 10);
}

}  // namespace
}  // namespace sightline
