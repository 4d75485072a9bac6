#include "common/bundle/tag_filter.h"

#include <string>
#include <vector>

#include "tests/support/catch.h"

namespace sightline {
namespace {

TEST_CASE("an item passes with one of any, all of all and none of none") {
  const std::vector<std::string> tags = {"fish", "red", "sea"};
  const struct {
    TagFilter filter;
    bool passes;
  } kCases[] = {
      {{}, true},
      {{{"fish"}, {}, {}}, true},
      {{{"bird", "sea"}, {}, {}}, true},
      {{{"bird"}, {}, {}}, false},
      {{{}, {"fish", "red"}, {}}, true},
      {{{}, {"fish", "bird"}, {}}, false},
      {{{}, {}, {"bird"}}, true},
      {{{}, {}, {"bird", "sea"}}, false},
      {{{"fish"}, {"red"}, {"bird"}}, true},
      {{{"fish"}, {"red"}, {"sea"}}, false},
      {{{"fis"}, {}, {}}, false},
      {{{"Fish"}, {}, {}}, false},
      {{{"fish"}, {}, {"fish"}}, false},
  };
  for (const auto& one : kCases) {
    CAPTURE(one.filter.any, one.filter.all, one.filter.none);
    CHECK(Passes(one.filter, tags) == one.passes);
  }
}

TEST_CASE("an item without tags passes what asks for none") {
  CHECK(Passes({}, {}));
  CHECK(Passes({{}, {}, {"fish"}}, {}));
  CHECK_FALSE(Passes({{"fish"}, {}, {}}, {}));
  CHECK_FALSE(Passes({{}, {"fish"}, {}}, {}));
}

}  // namespace
}  // namespace sightline
