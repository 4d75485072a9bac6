#include "common/base/shared.h"

#include <string>
#include <utility>
#include <vector>

#include "tests/support/catch.h"

namespace sightline {
namespace {

TEST_CASE("a value is taken over, and copies are the same value") {
  std::string picture(1 << 20, 'x');
  const char* const bytes = picture.data();
  const Shared<std::string> shared(std::move(picture));
  CHECK(shared->data() == bytes);
  const Shared<std::string> copy = shared;  // NOLINT
  CHECK(copy->data() == bytes);
  CHECK(shared.owner().use_count() == 2);
}

TEST_CASE("what becomes the value makes one") {
  const Shared<std::string> text = "fish";
  CHECK(*text == "fish");
  struct Query {
    Shared<std::string> bytes;
  };
  CHECK(Query{"fish"}.bytes->size() == 4);
}

TEST_CASE("there is always a value") {
  Shared<std::vector<int>> none;
  CHECK(none->empty());
  Shared<std::vector<int>> first(std::vector<int>{1, 2});
  const Shared<std::vector<int>> second = std::move(first);
  CHECK(second->size() == 2);
  CHECK(first->size() == 2);  // NOLINT: what it promises
}

}  // namespace
}  // namespace sightline
