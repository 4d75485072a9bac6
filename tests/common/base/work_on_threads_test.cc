#include "common/base/work_on_threads.h"

#include <atomic>
#include <vector>

#include "tests/support/catch.h"

namespace sightline {
namespace {

TEST_CASE("every number is worked on once, whatever the threads") {
  for (const int threads : {1, 2, 7}) {
    std::vector<std::atomic<int>> calls(100);
    REQUIRE(WorkOnThreads(threads, calls.size(), [&](size_t i) {
              ++calls[i];
              return absl::OkStatus();
            }).ok());
    for (const std::atomic<int>& count : calls) REQUIRE(count == 1);
  }
  REQUIRE(WorkOnThreads(2, 0, [](size_t) { return absl::InternalError("nothing to do"); }).ok());
}

TEST_CASE("after an error no more is begun, and the error is returned") {
  std::atomic<int> calls{0};
  const absl::Status status = WorkOnThreads(3, 1000000, [&](size_t i) {
    ++calls;
    return i == 5 ? absl::UnavailableError("five") : absl::OkStatus();
  });
  REQUIRE(status == absl::UnavailableError("five"));
  REQUIRE(calls < 1000000);
}

}  // namespace
}  // namespace sightline
