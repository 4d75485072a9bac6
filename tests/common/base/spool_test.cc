#include "common/base/spool.h"

#include <string>
#include <vector>

#include "common/base/files.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

std::vector<std::string> Read(Spool::Reader reader) {
  std::vector<std::string> records;
  for (absl::string_view record;;) {
    const auto more = reader.Next(&record);
    REQUIRE(more.ok());
    if (!*more) return records;
    records.emplace_back(record);
  }
}

TEST_CASE("records come back in order, any number of times, and the file has no name") {
  const TempDir dir;
  const auto spool = Spool::Create(dir.path());
  REQUIRE(spool.ok());
  std::vector<std::string> records = {"", "a", std::string(200'000, 'b'), ""};
  for (int i = 0; i < 3000; ++i) records.push_back(std::string(i % 100, static_cast<char>(i)));
  for (const std::string& record : records) REQUIRE((*spool)->Add(record).ok());
  REQUIRE((*spool)->Finish().ok());
  REQUIRE((*spool)->Finish().ok());
  REQUIRE((*spool)->size() == static_cast<int64_t>(records.size()));
  REQUIRE(Read(Spool::Reader(**spool)) == records);
  REQUIRE(Read(Spool::Reader(**spool)) == records);
  REQUIRE(ListDirectory(dir.path())->empty());
}

TEST_CASE("a stretch between two looks at the length is read alone") {
  const TempDir dir;
  const auto spool = Spool::Create(dir.path());
  REQUIRE((*spool)->Add("before").ok());
  const int64_t begin = (*spool)->byte_count();
  REQUIRE((*spool)->Add("one").ok());
  REQUIRE((*spool)->Add("two").ok());
  const int64_t end = (*spool)->byte_count();
  REQUIRE((*spool)->Add("after").ok());
  REQUIRE((*spool)->Finish().ok());
  REQUIRE(Read({**spool, begin, end}) == std::vector<std::string>{"one", "two"});
  REQUIRE(Read({**spool, begin, begin}).empty());
}

TEST_CASE("nothing in it is nothing, and no folder is an error") {
  const TempDir dir;
  const auto spool = Spool::Create(dir.path());
  REQUIRE((*spool)->Finish().ok());
  REQUIRE(Read(Spool::Reader(**spool)).empty());
  REQUIRE(absl::IsNotFound(Spool::Create("/nowhere/at/all").status()));
}

}  // namespace
}  // namespace sightline
