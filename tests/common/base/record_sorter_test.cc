#include "common/base/record_sorter.h"

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/files.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

using Records = std::vector<std::pair<std::string, std::string>>;

Records Sorted(RecordSorter& sorter) {
  Records records;
  REQUIRE(sorter
              .VisitAll([&](absl::string_view key, absl::string_view value) {
                records.emplace_back(std::string(key), std::string(value));
                return absl::OkStatus();
              })
              .ok());
  return records;
}

// Keys come several times, values tell in which order.
Records Random(int count) {
  std::mt19937 random(7);
  Records records;
  for (int i = 0; i < count; ++i) {
    std::string key(random() % 5, static_cast<char>(random()));
    records.emplace_back(absl::StrCat(random() % 50, key), absl::StrCat(i));
  }
  return records;
}

TEST_CASE("records come in the order of keys, equal ones as they came, few or many runs") {
  const TempDir dir;
  const Records records = Random(20000);
  Records expected = records;
  std::stable_sort(expected.begin(), expected.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  // In memory; in some runs; in so many that they are merged twice.
  for (const int64_t memory : {int64_t{1} << 20, int64_t{40'000}, int64_t{60}}) {
    RecordSorter sorter(dir.path(), memory);
    for (const auto& [key, value] : records) REQUIRE(sorter.Add(key, value).ok());
    REQUIRE(sorter.size() == 20000);
    REQUIRE(Sorted(sorter) == expected);
    REQUIRE(Sorted(sorter) == expected);
    // Nothing has a name.
    REQUIRE(ListDirectory(dir.path())->empty());
  }
}

TEST_CASE("no records are none, and empty ones are some") {
  const TempDir dir;
  RecordSorter none(dir.path());
  REQUIRE(Sorted(none).empty());
  RecordSorter sorter(dir.path(), 1);
  REQUIRE(sorter.Add("", "").ok());
  REQUIRE(sorter.Add("a", "").ok());
  REQUIRE(sorter.Add("", "b").ok());
  REQUIRE(Sorted(sorter) == Records{{"", ""}, {"", "b"}, {"a", ""}});
}

TEST_CASE("an error of the visitor ends the visit") {
  const TempDir dir;
  for (const int64_t memory : {int64_t{1} << 20, int64_t{1}}) {
    RecordSorter sorter(dir.path(), memory);
    for (const char* key : {"a", "b", "c"}) REQUIRE(sorter.Add(key, "").ok());
    int seen = 0;
    const absl::Status status = sorter.VisitAll([&](absl::string_view key, absl::string_view) {
      ++seen;
      return key == "b" ? absl::CancelledError("enough") : absl::OkStatus();
    });
    REQUIRE(absl::IsCancelled(status));
    REQUIRE(seen == 2);
  }
}

TEST_CASE("a folder that is not there is an error") {
  RecordSorter sorter("/nowhere/at/all", 1);
  REQUIRE(absl::IsNotFound(sorter.Add("a", "")));
}

}  // namespace
}  // namespace sightline
