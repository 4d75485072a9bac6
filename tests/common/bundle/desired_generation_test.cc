#include "common/bundle/desired_generation.h"
#include "common/bundle/publication.h"

#include <string>

#include "tests/common/bundle/items.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

TEST_CASE("what was published last is desired, with its number") {
  TempDir dir;
  for (const char* name : {"g-1", "g-2"}) {
    REQUIRE(WriteTestGeneration(dir.path(), name, 6, 2).ok());
  }
  for (const char* name : {"g-1", "g-2", "g-1"}) {
    REQUIRE(PublishGeneration(dir.path(), "images", name).ok());
    const auto desired = ReadDesiredGeneration(dir.path(), "images");
    REQUIRE(desired.status() == absl::OkStatus());
    CHECK(desired->manifest.generation() == name);
    CHECK(desired->sequence == ReadCurrent(dir.path(), "images")->sequence());
  }
  CHECK(ReadDesiredGeneration(dir.path(), "images")->sequence == 3);
}

TEST_CASE("an index that was never published says what to do") {
  TempDir dir;
  REQUIRE(WriteTestGeneration(dir.path(), "g-1", 6, 2).ok());
  const absl::Status status = ReadDesiredGeneration(dir.path(), "images").status();
  CHECK(absl::IsNotFound(status));
  CHECK_THAT(std::string(status.message()), Catch::Contains("publish"));
}

TEST_CASE("a name that is none never becomes a path") {
  CHECK(absl::IsInvalidArgument(ReadDesiredGeneration("/nowhere", "../images").status()));
}

}  // namespace
}  // namespace sightline
