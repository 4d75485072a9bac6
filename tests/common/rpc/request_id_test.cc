#include "common/rpc/request_id.h"

#include <set>
#include <string>
#include <thread>

#include "tests/support/catch.h"

namespace sightline {
namespace {

TEST_CASE("New ids are 32 hex digits and differ, also between threads") {
  std::set<std::string> ids;
  for (int i = 0; i < 1000; ++i) ids.insert(NewRequestId());
  std::thread([&] {
    for (int i = 0; i < 1000; ++i) ids.insert(NewRequestId());
  }).join();
  CHECK(ids.size() == 2000);
  for (const std::string& id : ids) {
    CHECK(id.size() == 32);
    CHECK(id.find_first_not_of("0123456789abcdef") == std::string::npos);
  }
}

TEST_CASE("Only visible ASCII of bounded length is taken over") {
  CHECK(RequestIdOr("a/b:1~") == "a/b:1~");
  CHECK(RequestIdOr(std::string(128, 'x')) == std::string(128, 'x'));
  for (const std::string& bad :
       {std::string(), std::string(129, 'x'), std::string("a b"), std::string("a\nb"),
        std::string("\xC3\xA4"), std::string("a\x7F")}) {
    CHECK(RequestIdOr(bad).size() == 32);
  }
}

}  // namespace
}  // namespace sightline
