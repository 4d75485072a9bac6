#include "common/base/resident_memory.h"

#include <algorithm>
#include <cstdint>

#include "tests/support/catch.h"

namespace sightline {
namespace {

TEST_CASE("memory of any size is zero, can be written, and begins at a page") {
  for (const int64_t bytes : {int64_t{1}, int64_t{4095}, int64_t{4097}, int64_t{2} << 20,
                              (int64_t{2} << 20) + 1, int64_t{7} << 20}) {
    CAPTURE(bytes);
    auto memory = ResidentMemory::Allocate(bytes);
    REQUIRE(memory.ok());
    char* const data = (*memory)->data();
    REQUIRE((*memory)->size() == bytes);
    const int64_t page = bytes >= int64_t{2} << 20 ? int64_t{2} << 20 : 4096;
    REQUIRE(reinterpret_cast<uintptr_t>(data) % page == 0);
    REQUIRE(std::all_of(data, data + bytes, [](char c) { return c == 0; }));
    std::fill_n(data, bytes, 'x');
  }
}

TEST_CASE("no memory is memory, and too much is refused") {
  REQUIRE((*ResidentMemory::Allocate(0))->size() == 0);
  REQUIRE(absl::IsResourceExhausted(ResidentMemory::Allocate(int64_t{1} << 60).status()));
  REQUIRE(absl::IsResourceExhausted(ResidentMemory::Allocate(INT64_MAX).status()));
  REQUIRE(absl::IsResourceExhausted(ResidentMemory::Allocate(-1).status()));
}

}  // namespace
}  // namespace sightline
