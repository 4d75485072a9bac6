#include "services/corpus_encoder/quarantine.h"

#include "tests/support/catch.h"

namespace sightline {
namespace {

TEST_CASE("the ledger is ordered by id, whatever order things went wrong in") {
  const QuarantineEntry a{"a", "/a", "x"}, b{"b", "/b", "y \"quoted\"\n"}, a2{"a", "/b", "x"};
  const std::string lines = QuarantineJsonLines({b, a2, a});
  REQUIRE(lines ==
          "{\"item_id\":\"a\",\"path\":\"/a\",\"reason\":\"x\"}\n"
          "{\"item_id\":\"a\",\"path\":\"/b\",\"reason\":\"x\"}\n"
          "{\"item_id\":\"b\",\"path\":\"/b\",\"reason\":\"y \\\"quoted\\\"\\n\"}\n");
  REQUIRE(QuarantineJsonLines({a, a2, b}) == lines);
  REQUIRE(QuarantineJsonLines({}) == "");
  REQUIRE(QuarantineJsonLines({{"caf\xe9", "", ""}}).find("caf\uFFFD") != std::string::npos);
}

TEST_CASE("more than the share is refused with numbers and examples") {
  const std::vector<QuarantineEntry> two = {{"a", "/a", "x"}, {"b", "/b", "y"}};
  REQUIRE(CheckQuarantineShare("pictures", two, 20, 0.1).ok());
  REQUIRE(CheckQuarantineShare("pictures", {}, 0, 0).ok());
  const absl::Status status = CheckQuarantineShare("pictures", two, 19, 0.1);
  REQUIRE(absl::IsFailedPrecondition(status));
  REQUIRE_THAT(std::string(status.message()),
               Catch::Contains("2 of 19 pictures") && Catch::Contains("a: x; b: y"));
}

}  // namespace
}  // namespace sightline
