#include "common/config/config.h"

#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

using Catch::Contains;

ConfigFile Parsed(absl::string_view text) {
  absl::StatusOr<ConfigFile> file = ConfigFile::Parse(text, "test.yaml");
  INFO(file.status());
  REQUIRE(file.ok());
  return *std::move(file);
}

std::string ParseError(absl::string_view text) {
  const absl::StatusOr<ConfigFile> file = ConfigFile::Parse(text, "test.yaml");
  REQUIRE(file.status().code() == absl::StatusCode::kInvalidArgument);
  return std::string(file.status().message());
}

// The problem that one read of a file leaves.
template <typename Read>
std::string ProblemOf(absl::string_view text, const Read& read) {
  ConfigFile file = Parsed(text);
  ConfigReader root = file.root();
  read(root);
  return std::string(file.status().message());
}

TEST_CASE("Values are read with their types") {
  ConfigFile file = Parsed(R"(
count: 12
negative: -3
share: 0.25
on: true
name: pictures
quoted: "300"
wait: 1m30s
size: 16MiB
plain_size: 4096
paths: [a, b]
mode: fast
)");
  ConfigReader root = file.root();
  CHECK(root.Int("count", 1) == 12);
  CHECK(root.Int("negative", 1, -5, 5) == -3);
  CHECK(root.Double("share", 1) == 0.25);
  CHECK(root.Bool("on", false));
  CHECK(root.String("name", "") == "pictures");
  CHECK(root.String("quoted", "") == "300");
  CHECK(root.Duration("wait", absl::ZeroDuration()) == absl::Seconds(90));
  CHECK(root.Bytes("size", 0) == 16 << 20);
  CHECK(root.Bytes("plain_size", 0) == 4096);
  CHECK(root.StringList("paths") == std::vector<std::string>{"a", "b"});
  CHECK(root.Choice("mode", "slow", {"slow", "fast"}) == "fast");
  CHECK(file.Finish().ok());
}

TEST_CASE("Absent keys give their defaults, also in absent sections") {
  ConfigFile file = Parsed("empty_section:\n");
  ConfigReader root = file.root();
  CHECK(root.Int("count", 7, 0, 5) == 7);  // a default needs no range
  CHECK(root.String("name", "x") == "x");
  CHECK(root.Bytes("size", 9) == 9);
  CHECK(root.StringList("paths").empty());
  CHECK(root.Sections("shards").empty());
  CHECK(root.Section("empty_section").Bool("on", true));
  CHECK(root.Section("a").Section("b").Duration("wait", absl::Seconds(2)) == absl::Seconds(2));
  CHECK_FALSE(root.Has("count"));
  CHECK(root.Has("empty_section"));
  CHECK(file.Finish().ok());
}

TEST_CASE("An empty file is an empty map") {
  for (const char* text : {"", "\n", "# nothing\n", "---\n", "{}"}) {
    ConfigFile file = Parsed(text);
    CHECK(file.root().Int("a", 3) == 3);
    CHECK(file.Finish().ok());
  }
}

TEST_CASE("Sections are read in order and know their paths") {
  ConfigFile file = Parsed(R"(
shards:
  - {address: one, limits: {rows: 5}}
  - address: two
indexes:
  pictures: {k: 1}
  captions: {k: 2}
)");
  ConfigReader root = file.root();
  std::vector<ConfigReader> shards = root.Sections("shards", 1, 2);
  REQUIRE(shards.size() == 2);
  CHECK(shards[0].RequiredString("address") == "one");
  ConfigReader limits = shards[0].Section("limits");
  CHECK(limits.path() == "shards[0].limits");
  CHECK(limits.RequiredInt("rows", 1, 9) == 5);
  CHECK(shards[1].RequiredString("address") == "two");
  auto indexes = root.NamedSections("indexes");
  REQUIRE(indexes.size() == 2);
  CHECK(indexes[0].first == "pictures");
  CHECK(indexes[0].second.Int("k", 0) == 1);
  CHECK(indexes[1].first == "captions");
  CHECK(indexes[1].second.Int("k", 0) == 2);
  CHECK(file.Finish().ok());
}

TEST_CASE("Every problem is reported at once, with place and path, in the file's order") {
  ConfigFile file = Parsed(
      "server:\n"
      "  max_thraeds: 4\n"
      "  listen: [a]\n"
      "top_k: 5000\n"
      "wait: 5\n");
  ConfigReader root = file.root();
  CHECK(root.Duration("wait", absl::Seconds(1)) == absl::Seconds(1));
  CHECK(root.Int("top_k", 10, 1, 1000) == 10);
  CHECK(root.RequiredString("store").empty());
  ConfigReader server = root.Section("server");
  server.Int("max_threads", 2);
  server.String("listen", "");
  const absl::Status status = file.Finish();
  CHECK(status.code() == absl::StatusCode::kInvalidArgument);
  CHECK(status.message() ==
        "test.yaml:1:1: store: is missing and has no default\n"
        "test.yaml:2:3: server.max_thraeds: unknown key; did you mean max_threads?\n"
        "test.yaml:3:11: server.listen: wants a single value, has a list\n"
        "test.yaml:4:8: top_k: 5000 is out of range; allowed is 1 to 1000\n"
        "test.yaml:5:7: wait: wants a number and a unit, like 300ms, 2s or 1m30s; has \"5\"");
}

TEST_CASE("Wrong values are named with what is wanted") {
  CHECK_THAT(ProblemOf("a: 1.5", [](ConfigReader& r) { r.Int("a", 0); }),
             Contains("wants a whole number, has \"1.5\""));
  CHECK_THAT(ProblemOf("a: 99999999999999999999", [](ConfigReader& r) { r.Int("a", 0); }),
             Contains("wants a whole number"));
  CHECK_THAT(ProblemOf("a: nan", [](ConfigReader& r) { r.Double("a", 0); }),
             Contains("wants a number, has \"nan\""));
  CHECK_THAT(ProblemOf("a: 1.5", [](ConfigReader& r) { r.Double("a", 0, 0, 1); }),
             Contains("1.5 is out of range; allowed is 0 to 1"));
  CHECK_THAT(ProblemOf("a: yes", [](ConfigReader& r) { r.Bool("a", false); }),
             Contains("wants true or false, has \"yes\""));
  CHECK_THAT(ProblemOf("a: slo",
                       [](ConfigReader& r) {
                         r.Choice("a", "x", {"slow", "fast"});
                       }),
             Contains("wants one of slow, fast; has \"slo\""));
  CHECK_THAT(ProblemOf("a: 10MB", [](ConfigReader& r) { r.Bytes("a", 0); }),
             Contains("like 16MiB; has \"10MB\""));
  CHECK_THAT(ProblemOf("a: 9000000000000TiB", [](ConfigReader& r) { r.Bytes("a", 0); }),
             Contains("wants a whole number of B"));
  CHECK_THAT(ProblemOf("a: 2GiB", [](ConfigReader& r) { r.Bytes("a", 0, 1 << 20, 1 << 30); }),
             Contains("2GiB is out of range; allowed is 1MiB to 1GiB"));
  CHECK_THAT(ProblemOf("a: -1s", [](ConfigReader& r) { r.Duration("a", absl::Seconds(1)); }),
             Contains("-1s is out of range; allowed is 0 to inf"));
  CHECK_THAT(ProblemOf("a: inf", [](ConfigReader& r) { r.Duration("a", absl::Seconds(1)); }),
             Contains("wants a number and a unit"));
  CHECK_THAT(ProblemOf("a:", [](ConfigReader& r) { r.Int("a", 0); }), Contains("has no value"));
  CHECK_THAT(ProblemOf("a: ''", [](ConfigReader& r) { r.RequiredString("a"); }),
             Contains("must not be empty"));
  CHECK_THAT(ProblemOf("a: {b: 1}", [](ConfigReader& r) { r.StringList("a"); }),
             Contains("wants a list, has a map"));
  CHECK_THAT(ProblemOf("a: [x, [y]]", [](ConfigReader& r) { r.StringList("a"); }),
             Contains("a[1]: wants a single value, has a list"));
  CHECK_THAT(ProblemOf("a: [x, y]", [](ConfigReader& r) { r.StringList("a", 3); }),
             Contains("has 2 entries; allowed is 3 to"));
  CHECK_THAT(ProblemOf("a: [{}, 3]", [](ConfigReader& r) { r.Sections("a"); }),
             Contains("a[1]: wants a map (name: value), has a single value"));
  CHECK_THAT(ProblemOf("a: {x: {}}", [](ConfigReader& r) { r.NamedSections("a", 2); }),
             Contains("has 1 entries; allowed is 2 to"));
  CHECK_THAT(ProblemOf("a: 1", [](ConfigReader& r) { r.AddProblem("a", "excludes b"); }),
             Contains("test.yaml:1:4: a: excludes b"));
}

TEST_CASE("A section of the wrong type is one problem, not one for each key in it") {
  ConfigFile file = Parsed("server: 5");
  ConfigReader server = file.root().Section("server");
  server.RequiredString("listen");
  server.Section("limits").RequiredInt("rows");
  CHECK(file.Finish().message() ==
        "test.yaml:1:9: server: wants a map (name: value), has a single value");
}

TEST_CASE("Required values in an absent section are missed where the section should be") {
  ConfigFile file = Parsed("a: {x: 1}");
  ConfigReader a = file.root().Section("a");
  a.Int("x", 0);
  a.Section("b").RequiredInt("rows", 1, 5);
  CHECK(file.Finish().message() == "test.yaml:1:4: a.b.rows: is missing and has no default");
}

TEST_CASE("A whole unknown section is one problem") {
  ConfigFile file = Parsed("sevrer:\n  a: 1\n  b: 2\n");
  file.root().Section("server");
  CHECK(file.Finish().message() == "test.yaml:1:1: sevrer: unknown key; did you mean server?");
}

TEST_CASE("A key far from all known ones gets no suggestion") {
  ConfigFile file = Parsed("zebra: 1");
  file.root().Int("top_k", 1);
  CHECK(file.Finish().message() == "test.yaml:1:1: zebra: unknown key");
}

TEST_CASE("A key that stands twice is a problem, and the first one counts") {
  ConfigFile file = Parsed("a: 1\na: {b: [2]}\n");
  CHECK(file.root().Int("a", 0) == 1);
  CHECK(file.Finish().message() == "test.yaml:2:1: the key a stands here twice");
}

TEST_CASE("What is not the plain part of YAML is refused with its place") {
  CHECK_THAT(ParseError("a: &x 1\nb: 2"), Contains("anchors (&name) are not supported"));
  CHECK_THAT(ParseError("a: 1\nb: *x"), Contains("test.yaml:2:"));
  CHECK_THAT(ParseError("a: !!int 1"), Contains("tags are not supported"));
  CHECK_THAT(ParseError("[1, 2]"), Contains("wants a map (name: value) at the top, has a list"));
  CHECK_THAT(ParseError("just words"), Contains("has a single value"));
  CHECK_THAT(ParseError("a: 1\n---\nb: 2"), Contains("more than one YAML document"));
  CHECK_THAT(ParseError("? [a, b]\n: 1"), Contains("a key must be a plain word"));
  CHECK_THAT(ParseError("a: \"\\0\""), Contains("NUL"));
  CHECK_THAT(ParseError("a: \xFF"), Contains("not UTF-8"));
  CHECK_THAT(ParseError("a: [1\nb: 2"), Contains("test.yaml:2:"));
  CHECK_THAT(ParseError("a: {b: 1"), Contains("test.yaml:"));
}

TEST_CASE("Hostile files are refused before they cost anything") {
  SECTION("alias bomb") {
    std::string bomb = "a0: &a0 [x]\n";
    for (int i = 1; i < 30; ++i) {
      absl::StrAppend(&bomb, "a", i, ": &a", i, " [*a", i - 1, ", *a", i - 1, "]\n");
    }
    CHECK_THAT(ParseError(bomb), Contains("not supported"));
  }
  SECTION("deep nesting") {
    CHECK_THAT(ParseError("a: " + std::string(100, '[') + std::string(100, ']')),
               Contains("nested deeper than 32"));
    ParseError("a: " + std::string(100000, '['));
    ParseError("a: " + std::string(100000, '{'));
  }
  SECTION("too many values") {
    std::string many = "a: [";
    for (int i = 0; i < ConfigFile::kMaxNodes; ++i) many += "1,";
    CHECK_THAT(ParseError(many + "]"), Contains("more than 50000 values"));
  }
  SECTION("too long") {
    const std::string text(ConfigFile::kMaxBytes + 1, '#');
    CHECK_THAT(ParseError(text), Contains("at most 1048576"));
  }
  SECTION("thousands of unknown keys give a message of bounded length") {
    std::string text;
    for (int i = 0; i < 2000; ++i) absl::StrAppend(&text, "key", i, ": 1\n");
    ConfigFile file = Parsed(text);
    file.root();
    const std::string message(file.Finish().message());
    CHECK(message.size() < 10000);
    CHECK_THAT(message, Contains("and 1900 more problems"));
  }
}

TEST_CASE("Every truncation of a valid file parses or is refused") {
  const std::string text =
      "server:\n  listen: \"0.0.0.0:1\"\n  list: [a, {b: 'c'}]\nblock: |\n  text\nx: >-\n  y\n";
  for (size_t length = 0; length <= text.size(); ++length) {
    absl::StatusOr<ConfigFile> file = ConfigFile::Parse(text.substr(0, length), "cut.yaml");
    if (file.ok()) {
      file->root();
      const absl::Status status = file->Finish();
      CHECK((status.ok() || status.code() == absl::StatusCode::kInvalidArgument));
    } else {
      CHECK(file.status().code() == absl::StatusCode::kInvalidArgument);
    }
  }
}

TEST_CASE("Load reads a file and names it") {
  TempDir dir;
  const std::string path = dir.path() + "/server.yaml";
  std::ofstream(path) << "top_k: x\n";
  absl::StatusOr<ConfigFile> file = ConfigFile::Load(path);
  REQUIRE(file.ok());
  ConfigFile moved = *std::move(file);
  moved.root().Int("top_k", 1);
  CHECK_THAT(std::string(moved.Finish().message()), Contains(path + ":1:8: top_k"));
  CHECK(ConfigFile::Load(dir.path() + "/none.yaml").status().code() == absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace sightline
