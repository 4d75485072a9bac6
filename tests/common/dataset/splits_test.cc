#include "common/dataset/splits.h"

#include <string>
#include <vector>

#include "tests/support/catch.h"

namespace sightline {
namespace {

// First bytes as `printf %s ID | sha256sum` prints them.
TEST_CASE("the first byte of the id's SHA-256 decides") {
  REQUIRE(SplitOfItem("item/2458") == Split::kHeldOut);          // 19, the last that is held out
  REQUIRE(SplitOfItem("item/1112") == Split::kValidation);       // 1a
  REQUIRE(SplitOfItem("item/1429") == Split::kValidation);       // 25
  REQUIRE(SplitOfItem("item/104") == Split::kTrain);             // 26
  REQUIRE(SplitOfItem("stamps/animals/frog") == Split::kTrain);  // fb: the byte has no sign
  REQUIRE(SplitOfItem("b") == Split::kTrain);                    // 3e
}

TEST_CASE("a group goes where its smallest id goes") {
  const std::vector<std::string> ids = {"item/104", "item/1112", "item/1429", "item/2458"};
  REQUIRE(SplitsOfItems(ids, {0, 1, 2, 3}) == std::vector<Split>{Split::kTrain, Split::kValidation,
                                                                 Split::kValidation,
                                                                 Split::kHeldOut});
  REQUIRE(SplitsOfItems(ids, {0, 1, 1, 0}) ==
          std::vector<Split>{Split::kTrain, Split::kValidation, Split::kValidation, Split::kTrain});
}

TEST_CASE("what the source says of an item holds, whatever its id and its twins") {
  const std::vector<std::string> ids = {"item/104", "item/1112", "item/1429", "item/2458"};
  REQUIRE(SplitsOfItems(ids, {0, 0, 0, 3},
                        {Split::kTrain, Split::kHeldOut, Split::kValidation, Split::kTrain}) ==
          std::vector<Split>{Split::kTrain, Split::kHeldOut, Split::kValidation, Split::kTrain});
}

TEST_CASE("of whom nothing is said goes with the twin that is kept back the most") {
  const std::vector<std::string> ids = {"item/104", "item/1112", "item/1429", "item/2458"};
  const absl::optional<Split> nothing;
  REQUIRE(SplitsOfItems(ids, {0, 0, 0, 3}, {nothing, Split::kTrain, Split::kHeldOut, nothing}) ==
          std::vector<Split>{Split::kHeldOut, Split::kTrain, Split::kHeldOut, Split::kHeldOut});
  REQUIRE(SplitsOfItems(ids, {0, 0, 0, 3}, {nothing, Split::kHeldOut, Split::kTrain, nothing}) ==
          std::vector<Split>{Split::kHeldOut, Split::kHeldOut, Split::kTrain, Split::kHeldOut});
  REQUIRE(SplitsOfItems(ids, {0, 1, 1, 1}, {nothing, nothing, nothing, Split::kTrain}) ==
          std::vector<Split>(4, Split::kTrain));
  REQUIRE(SplitsOfItems(ids, {0, 1, 2, 3}, {nothing, nothing, nothing, nothing}) ==
          SplitsOfItems(ids, {0, 1, 2, 3}));
}

TEST_CASE("names of splits read back") {
  for (const Split split : {Split::kTrain, Split::kValidation, Split::kHeldOut}) {
    REQUIRE(*ParseSplit(SplitName(split)) == split);
  }
  REQUIRE(SplitName(Split::kHeldOut) == "held_out");
  REQUIRE(ParseSplit("test").status().code() == absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace sightline
