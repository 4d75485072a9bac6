#include "common/formats/json_elements.h"

#include <nlohmann/json.hpp>
#include <vector>

#include "tests/common/dataset/tree.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

constexpr int64_t kMost = 64 << 20;

// The elements at "a" of a file that holds `text`, each as one line of JSON.
absl::StatusOr<std::vector<std::string>> ElementsAt(const std::string& text,
                                                    int64_t max_bytes = kMost) {
  Tree tree;
  tree.Put("f.json", text);
  std::vector<std::string> elements;
  const absl::Status read =
      ForEachJsonElement(tree.Path("f.json"), max_bytes, {{"a", [&](const nlohmann::json& element) {
                                                             elements.push_back(element.dump());
                                                             return absl::OkStatus();
                                                           }}});
  if (!read.ok()) return read;
  return elements;
}

std::string ErrorOf(const std::string& text) {
  const absl::Status status = ElementsAt(text).status();
  REQUIRE(absl::IsInvalidArgument(status));
  return std::string(status.message());
}

std::string Repeated(const std::string& text, int count) {
  std::string all;
  for (int i = 0; i < count; ++i) all += text;
  return all;
}

TEST_CASE("elements come whole and in order, what else there is is passed over") {
  const auto elements = ElementsAt(
      R"({"b": [{"a": [{"not": "this"}]}], "a": [{"k": [1, -2, 3.5, null, true, {"x": "é"}]}, {}],
          "c": {"a": [7]}, "d": 8})");
  REQUIRE(elements.ok());
  REQUIRE(*elements == std::vector<std::string>{R"({"k":[1,-2,3.5,null,true,{"x":"é"}]})", "{}"});
  REQUIRE(ElementsAt(R"({"a": []})")->empty());
}

TEST_CASE("several arrays of a file are taken in the order in which they come") {
  Tree tree;
  tree.Put("f.json", R"({"b": [{"n": 1}], "a": [{"n": 2}, {"n": 3}]})");
  std::string order;
  const auto note = [&order](const std::string& array) {
    return [&order, array](const nlohmann::json& element) {
      order += array + element["n"].dump();
      return absl::OkStatus();
    };
  };
  REQUIRE(
      ForEachJsonElement(tree.Path("f.json"), kMost, {{"a", note("a")}, {"b", note("b")}}).ok());
  REQUIRE(order == "b1a2a3");
}

TEST_CASE("what is no such file is refused with the byte") {
  REQUIRE_THAT(ErrorOf(""), Catch::Contains("at byte 0"));
  REQUIRE_THAT(ErrorOf("[]"), Catch::Contains("is no JSON object"));
  REQUIRE_THAT(ErrorOf("3"), Catch::Contains("is no JSON object"));
  REQUIRE_THAT(ErrorOf("{}"), Catch::Contains("has no array \"a\""));
  REQUIRE_THAT(ErrorOf(R"({"a": {}})"), Catch::Contains("\"a\" is no array"));
  REQUIRE_THAT(ErrorOf(R"({"a": 1})"), Catch::Contains("\"a\" is no array"));
  REQUIRE_THAT(ErrorOf(R"({"a": [{}, 1]})"), Catch::Contains("element 1 of \"a\" is no object"));
  REQUIRE_THAT(ErrorOf(R"({"a": [[]]})"), Catch::Contains("element 0 of \"a\" is no object"));
  REQUIRE_THAT(ErrorOf(R"({"a": [], "a": []})"), Catch::Contains("\"a\" comes twice"));
  REQUIRE_THAT(ErrorOf(R"({"a": []} x)"), Catch::Contains("not JSON"));
  REQUIRE_THAT(ErrorOf("{\"a\": [{\"k\": \"\xFF\"}]}"), Catch::Contains("not UTF-8"));
  REQUIRE_THAT(ErrorOf("{\"a\": [{\"k\": nul}]}"), Catch::Contains("at byte 17: not JSON"));
}

TEST_CASE("a file that is cut anywhere is refused") {
  const std::string whole = R"({"a": [{"k": [1, "é"]}, {"k": {}}], "b": 12})";
  REQUIRE(ElementsAt(whole)->size() == 2);
  for (size_t length = 0; length < whole.size(); ++length) {
    CAPTURE(length);
    ErrorOf(whole.substr(0, length));
  }
}

TEST_CASE("what one element may take is bounded, wherever it is large") {
  const std::string much(kMaxJsonElementBytes + (200 << 10), 'x');
  REQUIRE_THAT(ErrorOf(R"({"a": [{"k": ")" + much + "\"}]}"), Catch::Contains("longer than"));
  REQUIRE_THAT(ErrorOf(R"({"b": ")" + much + R"(", "a": []})"), Catch::Contains("longer than"));
  REQUIRE_THAT(ErrorOf("{\"" + much + R"(": 1, "a": []})"), Catch::Contains("longer than"));
  REQUIRE_THAT(ErrorOf(R"({"a": [{"k": [)" + Repeated("1,", 600'000) + "1]}]}"),
               Catch::Contains("element 0 of \"a\" is longer than"));
  REQUIRE_THAT(ErrorOf(R"({"a": []})" + std::string(2 << 20, ' ')), Catch::Contains("longer than"));
  // Many of them are not: the limit is one's.
  REQUIRE(ElementsAt(R"({"a": [)" + Repeated("{},", 600'000) + "{}]}")->size() == 600'001);
  REQUIRE(ElementsAt(R"({"b": [)" + Repeated("1,", 600'000) + R"(1], "a": []})")->empty());
}

TEST_CASE("nesting is bounded, in elements and in what is passed over") {
  const auto nested = [](int depth) { return Repeated("[", depth) + Repeated("]", depth); };
  REQUIRE(ElementsAt(R"({"a": [{"k": )" + nested(13) + "}]}").ok());
  REQUIRE_THAT(ErrorOf(R"({"a": [{"k": )" + nested(14) + "}]}"), Catch::Contains("in each other"));
  REQUIRE_THAT(ErrorOf(R"({"a": [], "b": )" + nested(100'000) + "}"),
               Catch::Contains("at byte 31: more than 16"));
}

TEST_CASE("a file beyond the limit is not read, and one that is not there is not found") {
  const absl::Status large = ElementsAt(R"({"a": []})", 8).status();
  REQUIRE(absl::IsInvalidArgument(large));
  REQUIRE_THAT(std::string(large.message()), Catch::Contains("has 9 bytes; the limit is 8"));
  REQUIRE(absl::IsNotFound(ForEachJsonElement("/nowhere.json", kMost, {})));
}

TEST_CASE("an error of who takes an element ends the reading and says which") {
  Tree tree;
  tree.Put("f.json", R"({"a": [{}, {}, {}]})");
  int taken = 0;
  const absl::Status status =
      ForEachJsonElement(tree.Path("f.json"), kMost,
                         {{"a", [&](const nlohmann::json&) {
                             return ++taken < 2 ? absl::OkStatus() : absl::AbortedError("enough");
                           }}});
  REQUIRE(taken == 2);
  REQUIRE(absl::IsAborted(status));
  REQUIRE_THAT(std::string(status.message()),
               Catch::Contains("f.json: at byte 13: element 1 of \"a\", which ends here: enough"));
}

TEST_CASE("fields are what they should be or are named") {
  const nlohmann::json element = {{"t", "x"}, {"n", 7}, {"l", {1}}, {"f", 1.5}};
  REQUIRE(*JsonText(element, "t") == "x");
  REQUIRE(*JsonInteger(element, "n") == 7);
  REQUIRE((*JsonArray(element, "l"))->size() == 1);
  REQUIRE(*JsonId(element, "n") == "7");
  REQUIRE(*JsonId(element, "t") == "x");
  REQUIRE_THAT(std::string(JsonText(element, "n").status().message()),
               Catch::Contains("\"n\" must be a text, not number"));
  REQUIRE_THAT(std::string(JsonInteger(element, "z").status().message()),
               Catch::Contains("\"z\" is missing"));
  REQUIRE(!JsonInteger(element, "f").ok());
  REQUIRE(!JsonId(element, "l").ok());
  REQUIRE(!JsonInteger({{"n", UINT64_MAX}}, "n").ok());
  REQUIRE(!JsonText(nlohmann::json(3), "t").ok());
}

}  // namespace
}  // namespace sightline
