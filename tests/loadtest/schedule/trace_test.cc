#include "loadtest/schedule/trace.h"

#include <string>
#include <variant>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/files.h"
#include "common/base/limits.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

std::string ErrorOf(const std::string& text) {
  const auto trace = ParseTrace(text, "");
  REQUIRE_FALSE(trace.ok());
  REQUIRE(absl::IsInvalidArgument(trace.status()));
  return std::string(trace.status().message());
}

TEST_CASE("a request is what its line says, and the rest is as usual") {
  const auto trace = ParseTrace(
      "{\"at\": 0.125, \"text\": \"a red fish\"}\n"
      "\n"
      "  {\"at\": 0.125, \"kind\": \"upload\", \"image\": \"pictures/a.png\", \"index\": "
      "\"emoji\", "
      "\"top_k\": 5, \"depth\": 0, \"deadline_ms\": 250.5, \"expect\": [\"a\", \"b\"]}\r\n"
      "{\"at\": 7, \"item\": \"fish-7\", \"expect\": []}",
      "traces");
  REQUIRE(trace.ok());
  REQUIRE(trace->size() == 3);

  const TraceRequest& text = (*trace)[0];
  REQUIRE(text.at == absl::Milliseconds(125));
  REQUIRE(text.kind == "text");
  REQUIRE(std::get<TextQuery>(text.request.query).text == "a red fish");
  REQUIRE(text.request.index.empty());
  REQUIRE(text.request.top_k == 10);
  REQUIRE_FALSE(text.request.depth.has_value());
  REQUIRE(text.deadline == absl::Seconds(1));
  REQUIRE(text.expected.empty());

  const TraceRequest& image = (*trace)[1];
  REQUIRE(image.at == absl::Milliseconds(125));
  REQUIRE(image.kind == "upload");
  REQUIRE(image.image == "traces/pictures/a.png");
  REQUIRE(image.request.index == "emoji");
  REQUIRE(image.request.top_k == 5);
  REQUIRE(image.request.depth == 0);
  REQUIRE(image.deadline == absl::Microseconds(250500));
  REQUIRE(image.expected == std::vector<std::string>{"a", "b"});

  const TraceRequest& item = (*trace)[2];
  REQUIRE(item.at == absl::Seconds(7));
  REQUIRE(item.kind == "item");
  REQUIRE(std::get<ItemQuery>(item.request.query).item_id == "fish-7");
  REQUIRE(std::get<ItemQuery>(item.request.query).index.empty());
}

TEST_CASE("an absolute path of an image stays as it is") {
  const std::string line = "{\"at\": 0, \"image\": \"/pictures/a.png\"}";
  REQUIRE(ParseTrace(line, "traces")->front().image == "/pictures/a.png");
}

TEST_CASE("a malformed line is refused by its number, with what is wrong with it") {
  struct Bad {
    std::string line, problem;
  };
  const std::string good = "{\"at\": 1, \"text\": \"a\"}\n\n";
  for (const Bad& bad : std::vector<Bad>{
           {"{", "not valid JSON"},
           {"[]", "must be a JSON object"},
           {"{\"text\": \"a\"}", "\"at\" is missing"},
           {"{\"at\": \"1\", \"text\": \"a\"}", "\"at\" must be a number from 0 to 86400"},
           {"{\"at\": -1, \"text\": \"a\"}", "not -1"},
           {"{\"at\": 86401, \"text\": \"a\"}", "not 86401"},
           {"{\"at\": 1e999, \"text\": \"a\"}", "not valid JSON"},
           {"{\"at\": 0.5, \"text\": \"a\"}", "\"at\" falls from 1s to 500ms"},
           {"{\"at\": 1}", "has 0 of \"text\", \"image\" and \"item\"; give one"},
           {"{\"at\": 1, \"text\": \"a\", \"item\": \"b\"}", "has 2 of"},
           {"{\"at\": 1, \"text\": \"\"}", "\"text\" has 0 bytes"},
           {"{\"at\": 1, \"text\": 7}", "\"text\" must be a string"},
           {"{\"at\": 1, \"text\": \"a\", \"kind\": \"\"}", "\"kind\" has 0 bytes"},
           {"{\"at\": 1, \"text\": \"a\", \"index\": null}", "\"index\" must be a string"},
           {"{\"at\": 1, \"text\": \"a\", \"topk\": 3}", "\"topk\" is no key of a request"},
           {"{\"at\": 1, \"text\": \"a\", \"top_k\": 0}", "must be a number from 1 to 1000, not 0"},
           {"{\"at\": 1, \"text\": \"a\", \"top_k\": 1001}", "not 1001"},
           {"{\"at\": 1, \"text\": \"a\", \"top_k\": 18446744073709551615}",
            "not 1844674407370955"},
           {"{\"at\": 1, \"text\": \"a\", \"top_k\": 2.5}", "must be a whole number, not 2.5"},
           {"{\"at\": 1, \"text\": \"a\", \"top_k\": true}", "not boolean"},
           {"{\"at\": 1, \"text\": \"a\", \"depth\": -1}", "from 0 to 1000, not -1"},
           {"{\"at\": 1, \"text\": \"a\", \"deadline_ms\": 0}", "from 1 to 3600000"},
           {"{\"at\": 1, \"text\": \"a\", \"expect\": \"b\"}", "\"expect\" must be a list"},
           {"{\"at\": 1, \"text\": \"a\", \"expect\": [\"b\", 7]}", "\"expect\" must hold strings"},
           {"{\"at\": 1, \"text\": \"a\", \"expect\": [\"\"]}", "1 to 1024 bytes"},
           {"{\"at\": 1, \"text\": \"\xff\"}", "not valid JSON"},
       }) {
    INFO(bad.line);
    const std::string error = ErrorOf(good + bad.line);
    INFO(error);
    REQUIRE(absl::StartsWith(error, "line 3: "));
    REQUIRE(absl::StrContains(error, bad.problem));
  }
}

TEST_CASE("what is too long is refused") {
  const auto with = [](const std::string& member) {
    return absl::StrCat("{\"at\": 1, ", member, "}");
  };
  const std::string text(16 << 10, 'x');
  REQUIRE(ParseTrace(with(absl::StrCat("\"text\": \"", text, "\"")), "").ok());
  REQUIRE(
      absl::StrContains(ErrorOf(with(absl::StrCat("\"text\": \"", text, "x\""))), "16385 bytes"));
  REQUIRE(absl::StrContains(
      ErrorOf(with(absl::StrCat("\"item\": \"", std::string(1025, 'x'), "\""))), "1025 bytes"));
  std::string ids = "\"a\"";
  for (int i = 0; i < limits::kMaxExpectedItems; ++i) ids += ",\"a\"";
  REQUIRE(absl::StrContains(ErrorOf(with(absl::StrCat("\"text\": \"a\", \"expect\": [", ids, "]"))),
                            "at most 1000"));
  // The name of a key that nobody knows is not repeated at any length.
  REQUIRE(ErrorOf(with(absl::StrCat("\"", std::string(500000, 'k'), "\": 1"))).size() < 1000);
}

TEST_CASE("a trace without requests is refused") {
  REQUIRE(ErrorOf("") == "has no request");
  REQUIRE(ErrorOf("\n \n") == "has no request");
}

TEST_CASE("a file is read, its folder is where its pictures are, and errors name it") {
  const TempDir folder;
  const std::string path = folder.File("a.jsonl");
  REQUIRE(WriteFileAtomically(path, "{\"at\": 0, \"image\": \"a.png\"}\n").ok());
  const auto trace = ReadTrace(path);
  REQUIRE(trace.ok());
  REQUIRE(trace->front().image == folder.File("a.png"));

  REQUIRE(WriteFileAtomically(path, "{\"at\": 0}\n").ok());
  REQUIRE(absl::StartsWith(ReadTrace(path).status().message(),
                           absl::StrCat("trace ", path, ": line 1: ")));
  REQUIRE(absl::IsNotFound(ReadTrace(folder.File("b.jsonl")).status()));
}

}  // namespace
}  // namespace sightline
