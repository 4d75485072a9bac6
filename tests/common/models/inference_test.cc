#include "common/models/inference.h"

#include <c10/util/Exception.h>

#include <atomic>
#include <new>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "common/base/error_details.h"
#include "tests/support/catch.h"
#include "tests/support/fake_clock.h"

namespace sightline {
namespace {

std::vector<ItemShape> RandomShapes(size_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<ItemShape> shapes(count);
  for (ItemShape& shape : shapes) {
    shape.text_rows = 1 + random() % 40;
    shape.region_rows = random() % 3 == 0 ? 0 : 30 + random() % 8;
  }
  return shapes;
}

TEST_CASE("every item is in one group, and items of one shape are neighbours") {
  for (uint32_t seed = 0; seed < 50; ++seed) {
    const std::vector<ItemShape> shapes = RandomShapes(seed * 3, seed);
    GroupingOptions options;
    options.threads = 1 + seed % 4;
    options.max_rows = 300;
    std::vector<int64_t> seen;
    for (const Group& group : GroupByShape(shapes, options)) {
      REQUIRE(!group.empty());
      seen.insert(seen.end(), group.begin(), group.end());
      int64_t rows = 0;
      for (int64_t i : group) rows += shapes[i].text_rows + shapes[i].region_rows;
      REQUIRE(rows <= 300);
    }
    REQUIRE(seen.size() == shapes.size());
    REQUIRE(std::set<int64_t>(seen.begin(), seen.end()).size() == shapes.size());
    // A shape that was left does not come back.
    std::set<std::pair<int64_t, int64_t>> left;
    for (size_t i = 1; i < seen.size(); ++i) {
      const ItemShape &before = shapes[seen[i - 1]], &shape = shapes[seen[i]];
      if (std::tie(before.text_rows, before.region_rows) ==
          std::tie(shape.text_rows, shape.region_rows)) {
        continue;
      }
      left.insert({before.text_rows, before.region_rows});
      REQUIRE(left.count({shape.text_rows, shape.region_rows}) == 0);
    }
  }
}

TEST_CASE("a batch of equal items is shared between the threads") {
  const std::vector<ItemShape> shapes(20, ItemShape{12, 36});
  REQUIRE(GroupByShape(shapes, {/*threads=*/1}).size() == 1);
  const std::vector<Group> halves = GroupByShape(shapes, {/*threads=*/2});
  REQUIRE(halves.size() == 2);
  REQUIRE(halves[0].size() == 10);
}

TEST_CASE("where items would be padded, only those of one shape share a pass") {
  const std::vector<ItemShape> shapes = RandomShapes(200, 3);
  GroupingOptions options;
  options.max_rows = 300;
  options.equal_shapes = true;
  size_t seen = 0, shared = 0;
  for (const Group& group : GroupByShape(shapes, options)) {
    seen += group.size();
    if (group.size() > 1) ++shared;
    for (const int64_t i : group) {
      REQUIRE(shapes[i].text_rows == shapes[group[0]].text_rows);
      REQUIRE(shapes[i].region_rows == shapes[group[0]].region_rows);
    }
  }
  REQUIRE(seen == shapes.size());
  REQUIRE(shared > 0);
}

TEST_CASE("an item above the row limit has a pass to itself") {
  GroupingOptions options;
  options.max_rows = 50;
  const std::vector<Group> groups = GroupByShape({{10, 0}, {500, 0}, {10, 0}}, options);
  REQUIRE(groups == std::vector<Group>{{0, 2}, {1}});
}

TEST_CASE("one item per pass keeps the order") {
  GroupingOptions options;
  options.one_each = true;
  REQUIRE(GroupByShape({{9, 0}, {1, 0}, {9, 0}}, options) == std::vector<Group>{{0}, {1}, {2}});
}

TEST_CASE("an empty batch has no passes") {
  REQUIRE(GroupByShape({}, {}).empty());
}

TEST_CASE("all groups run, on a pool and without one") {
  ComputePool pool(3);
  for (ComputePool* each : {static_cast<ComputePool*>(nullptr), &pool}) {
    std::vector<int> ran(17);
    std::vector<Group> groups;
    for (int64_t i = 0; i < 17; ++i) groups.push_back({i});
    const absl::Status status =
        RunGroups(each, groups, CallContext::Unbounded(), "test", [&](const Group& group) {
          ++ran[group[0]];
          return absl::OkStatus();
        });
    REQUIRE(status.ok());
    REQUIRE(ran == std::vector<int>(17, 1));
  }
}

TEST_CASE("the error of the first group is returned") {
  const std::vector<Group> groups = {{0}, {1}, {2}};
  const absl::Status status = RunGroups(
      nullptr, groups, CallContext::Unbounded(), "test", [&](const Group& group) -> absl::Status {
        if (group[0] == 0) return absl::OkStatus();
        return absl::InvalidArgumentError(group[0] == 1 ? "first" : "second");
      });
  REQUIRE(status == absl::InvalidArgumentError("first"));
}

TEST_CASE("an abandoned call computes no further group") {
  FakeClock clock;
  const CallContext call(&clock, clock.Now() + absl::Seconds(1));
  std::vector<Group> groups = {{0}, {1}, {2}, {3}};
  int ran = 0;
  const auto run = [&](const Group&) {
    if (++ran == 2) call.cancellation()->Cancel();
    return absl::OkStatus();
  };
  REQUIRE(absl::IsCancelled(RunGroups(nullptr, groups, call, "score pairs", run)));
  REQUIRE(ran == 2);

  const CallContext late(&clock, clock.Now());
  const absl::Status status = RunGroups(nullptr, groups, late, "score pairs", run);
  REQUIRE(absl::IsDeadlineExceeded(status));
  REQUIRE(absl::StrContains(status.message(), "score pairs"));
  REQUIRE(ran == 2);
}

TEST_CASE("exceptions become statuses") {
  const absl::Status broken =
      RunGuarded("load", []() -> absl::Status { throw std::runtime_error("broken"); });
  REQUIRE(broken == absl::InternalError("load: broken"));
  const absl::Status full = RunGuarded("load", []() -> absl::Status { throw std::bad_alloc(); });
  REQUIRE(absl::IsResourceExhausted(full));
}

TEST_CASE("what LibTorch says in words alone is told apart") {
  const auto status_of = [](const std::string& words) {
    return RunGuarded("score", [&]() -> absl::Status { TORCH_CHECK(false, words); });
  };
  CHECK(
      absl::IsResourceExhausted(status_of("[enforce] DefaultCPUAllocator: can't allocate memory")));
  for (const char* words :
       {"CUDA out of memory. Tried to allocate 2.00 GiB", "CUDA error: out of memory",
        "CUDA error: CUBLAS_STATUS_ALLOC_FAILED"}) {
    CHECK(absl::IsResourceExhausted(status_of(words)));
  }
  for (const char* words :
       {"CUDA error: unspecified launch failure", "cuDNN error: CUDNN_STATUS_EXECUTION_FAILED"}) {
    CHECK(HasReason(status_of(words), reasons::kDeviceFailed));
  }
  // Of a container without /proc, say.
  const absl::Status blind = status_of(
      "cpuinfo_initialize() INTERNAL ASSERT FAILED: "
      "cpuinfo initialization failed");
  CHECK(absl::IsFailedPrecondition(blind));
  CHECK(absl::StrContains(blind.message(), "mount /proc"));
  CHECK(absl::IsInternal(status_of("mat1 and mat2 shapes cannot be multiplied")));
}

// Runs groups where a pass has room for so many items, and tells which were tried.
absl::Status RunWithRoomFor(size_t room, const std::vector<Group>& groups,
                            std::vector<Group>* tried) {
  return RunGroups(nullptr, groups, CallContext::Unbounded(), "test", [&](const Group& group) {
    tried->push_back(group);
    return group.size() <= room ? absl::OkStatus() : absl::ResourceExhaustedError("too many");
  });
}

TEST_CASE("a pass that has no room is tried in halves, once") {
  std::vector<Group> tried;
  CHECK(RunWithRoomFor(3, {{0, 1, 2, 3, 4}, {5}}, &tried) == absl::OkStatus());
  CHECK(tried == std::vector<Group>{{0, 1, 2, 3, 4}, {0, 1}, {2, 3, 4}, {5}});
  tried.clear();
  CHECK(absl::IsResourceExhausted(RunWithRoomFor(2, {{0, 1, 2, 3, 4}}, &tried)));
  CHECK(tried == std::vector<Group>{{0, 1, 2, 3, 4}, {0, 1}, {2, 3, 4}});
  tried.clear();
  CHECK(absl::IsResourceExhausted(RunWithRoomFor(0, {{7}}, &tried)));
  CHECK(tried == std::vector<Group>{{7}});
}

}  // namespace
}  // namespace sightline
