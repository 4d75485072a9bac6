#include "services/trainer/item_list.h"

#include <string>

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

TEST_CASE("skipped items come in the order of their ids, whatever their paths hold") {
  REQUIRE(SkippedJsonLines({{"b", "/p/b\xFF", "truncated"}, {"a", "/p/a", "no picture"}}) ==
          R"({"item_id":"a","path":"/p/a","reason":"no picture"})"
          "\n"
          R"({"item_id":"b","path":"/p/b\\xff","reason":"truncated"})"
          "\n");
}

}  // namespace
}  // namespace sightline
