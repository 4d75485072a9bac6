#include "services/trainer/item_list.h"

#include <string>

#include "absl/strings/match.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

TEST_CASE("an item is a line of JSON") {
  const std::vector<ListedItem> items = {
      {"a/b", Split::kHeldOut, 0, {{"en", "a \"frog\""}, {"de", "ein Frösch"}}},
      {"c", Split::kTrain, 1, {}},
  };
  REQUIRE(ItemJsonLines(items) ==
          R"({"item_id":"a/b","split":"held_out","group":0,"captions":[)"
          R"({"language":"en","text":"a \"frog\""},{"language":"de","text":"ein Frösch"}]})"
          "\n"
          R"({"item_id":"c","split":"train","group":1,"captions":[]})"
          "\n");
}

TEST_CASE("ids are read again, and a line without one is told") {
  const std::vector<ListedItem> items = {{"a/b", Split::kHeldOut, 0, {}}, {"c", {}, 1, {}}};
  REQUIRE(*ParseItemIds(ItemJsonLines(items)) == std::vector<std::string>{"a/b", "c"});
  const absl::Status status = ParseItemIds("{\"item_id\":\"a\"}\n{\"id\":\"b\"}\n").status();
  REQUIRE(absl::IsInvalidArgument(status));
  REQUIRE(absl::StrContains(status.message(), "line 2"));
}

TEST_CASE("skipped items come in the order of their ids, whatever their paths hold") {
  REQUIRE(SkippedJsonLines({{"b", "/p/b\xFF", "truncated"}, {"a", "/p/a", "no picture"}}) ==
          R"({"item_id":"a","path":"/p/a","reason":"no picture"})"
          "\n"
          R"({"item_id":"b","path":"/p/b\\xff","reason":"truncated"})"
          "\n");
}

}  // namespace
}  // namespace sightline
