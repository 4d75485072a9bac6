#include "common/base/process_memory.h"

#include <vector>

#include "tests/support/catch.h"

namespace sightline {
namespace {

TEST_CASE("memory that is touched is counted") {
  const int64_t before = ResidentBytes();
  CHECK(before > 0);
  constexpr size_t kBytes = size_t{256} << 20;
  const std::vector<char> touched(kBytes, 'x');
  CHECK(ResidentBytes() - before > static_cast<int64_t>(kBytes / 2));
  CHECK(touched.back() == 'x');
}

}  // namespace
}  // namespace sightline
