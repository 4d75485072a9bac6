#include "common/object_store/object_keys.h"

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "tests/support/catch.h"

namespace sightline {
namespace {

TEST_CASE("keys of publications have the order of their sequences, and tell them") {
  std::vector<std::string> keys;
  for (const int64_t sequence : {int64_t{0}, int64_t{1}, int64_t{9}, int64_t{10},
                                 int64_t{1'000'000}, std::numeric_limits<int64_t>::max() - 1}) {
    keys.push_back(CurrentKey("images", sequence));
    CHECK(SequenceOfKey("images", keys.back()) == sequence);
  }
  CHECK(std::is_sorted(keys.begin(), keys.end()));
  CHECK(CurrentKey("images", 7) == "indexes/images/CURRENT/0000000000000000007");
}

TEST_CASE("a key that is none of ours has no sequence") {
  for (const char* key :
       {"", "indexes/images/CURRENT/", "indexes/images/CURRENT/7",
        "indexes/captions/CURRENT/0000000000000000007",
        "indexes/images/CURRENT/-000000000000000007", "indexes/images/CURRENT/00000000000000000007",
        "indexes/images/CURRENT/000000000000000000a", "indexes/images/CURRENT/9999999999999999999",
        "indexes/images/CURRENT/9223372036854775807"}) {
    INFO(key);
    CHECK(!SequenceOfKey("images", key).has_value());
  }
}

}  // namespace
}  // namespace sightline
