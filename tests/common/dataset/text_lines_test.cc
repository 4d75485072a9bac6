#include "common/dataset/text_lines.h"

#include "tests/common/dataset/tree.h"
#include "tests/support/catch.h"
#include "tests/support/gzip.h"

namespace sightline {
namespace {

std::vector<std::string> LinesOf(const std::string& content) {
  Tree tree;
  tree.Put("f", content);
  const auto read = TextLines::Read(tree.Path("f"));
  REQUIRE(read.ok());
  std::vector<std::string> lines;
  for (size_t i = 0; i < read->size(); ++i) lines.emplace_back((*read)[i]);
  return lines;
}

TEST_CASE("lines end in either way, the last one in none if it likes") {
  const std::vector<std::string> expected = {"a", "", "b"};
  REQUIRE(LinesOf("a\n\nb\n") == expected);
  REQUIRE(LinesOf("a\r\n\r\nb") == expected);
  REQUIRE(LinesOf("").empty());
  REQUIRE(LinesOf("\n") == std::vector<std::string>{""});
}

TEST_CASE("a gzipped file has the lines of what was packed") {
  REQUIRE(LinesOf(Gzip("a\nb\n")) == std::vector<std::string>{"a", "b"});
}

TEST_CASE("damaged gzip is refused by its name, and a file that is not there is not found") {
  Tree tree;
  const std::string packed = Gzip("a\nb\n");
  tree.Put("f.gz", packed.substr(0, packed.size() - 3));
  const absl::Status status = TextLines::Read(tree.Path("f.gz")).status();
  REQUIRE(absl::IsInvalidArgument(status));
  REQUIRE_THAT(std::string(status.message()), Catch::Contains("f.gz: "));
  REQUIRE(absl::IsNotFound(TextLines::Read(tree.Path("g")).status()));
}

}  // namespace
}  // namespace sightline
