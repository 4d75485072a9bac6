#include "common/models/inference.h"

#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <exception>
#include <new>
#include <numeric>
#include <tuple>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/error_details.h"

namespace sightline {
namespace {

// Below this a pass is all overhead and matrix products run far from their peak.
constexpr int64_t kLeastRows = 32;

int64_t RowsOf(const ItemShape& shape) {
  return shape.text_rows + shape.region_rows;
}

bool IsOther(const ItemShape& a, const ItemShape& b) {
  return a.text_rows != b.text_rows || a.region_rows != b.region_rows;
}

std::vector<Group> OneEach(size_t count) {
  std::vector<Group> groups(count);
  for (size_t i = 0; i < count; ++i) groups[i] = {static_cast<int64_t>(i)};
  return groups;
}

// Row budget of a pass: an equal share of the batch for each thread, within limits.
int64_t RowBudget(absl::Span<const ItemShape> shapes, const GroupingOptions& options) {
  int64_t total = 0;
  for (const ItemShape& shape : shapes) total += RowsOf(shape);
  const int64_t threads = std::max(options.threads, 1);
  return std::min(options.max_rows, std::max((total + threads - 1) / threads, kLeastRows));
}

absl::Status Translated(absl::string_view what) {
  try {
    throw;
  } catch (const StatusError& error) {
    return WithPrefix(error.status(), what);
  } catch (const c10::Error& error) {
    // The CPU allocator has no exception type of its own.
    const absl::string_view message = error.what_without_backtrace();
    return absl::Status(absl::StrContains(message, "can't allocate memory")
                            ? absl::StatusCode::kResourceExhausted
                            : absl::StatusCode::kInternal,
                        absl::StrCat(what, ": ", message));
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError(absl::StrCat(what, ": out of memory"));
  } catch (const std::exception& error) {
    return absl::InternalError(absl::StrCat(what, ": ", error.what()));
  }
}

}  // namespace

std::vector<Group> GroupByShape(absl::Span<const ItemShape> shapes,
                                const GroupingOptions& options) {
  if (options.one_each) return OneEach(shapes.size());
  Group order(shapes.size());
  std::iota(order.begin(), order.end(), int64_t{0});
  std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return std::tie(shapes[a].region_rows, shapes[a].text_rows, a) <
           std::tie(shapes[b].region_rows, shapes[b].text_rows, b);
  });
  const int64_t budget = RowBudget(shapes, options);
  std::vector<Group> groups;
  int64_t rows = 0;  // of the last group
  for (const int64_t index : order) {
    const int64_t more = RowsOf(shapes[index]);
    const bool fits =
        !groups.empty() && rows + more <= budget &&
        !(options.equal_shapes && IsOther(shapes[index], shapes[groups.back().back()]));
    if (!fits) {
      groups.emplace_back();
      rows = 0;
    }
    groups.back().push_back(index);
    rows += more;
  }
  return groups;
}

absl::Status RunGroups(ComputePool* pool, absl::Span<const Group> groups, const CallContext& call,
                       absl::string_view what,
                       const std::function<absl::Status(const Group&)>& run) {
  std::vector<absl::Status> results(groups.size());
  auto body = [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      results[i] = call.Check(what);
      if (!results[i].ok()) continue;
      results[i] = RunGuarded(what, [&] {
        UseSingleThreadedTorch();
        c10::InferenceMode no_autograd;
        return run(groups[i]);
      });
    }
  };
  if (pool == nullptr) {
    body(0, groups.size());
  } else {
    pool->ParallelFor(groups.size(), /*grain=*/1, body);
  }
  for (absl::Status& result : results) {
    if (!result.ok()) return std::move(result);
  }
  return absl::OkStatus();
}

absl::Status RunGuarded(absl::string_view what, const std::function<absl::Status()>& run) {
  try {
    return run();
  } catch (...) {
    return Translated(what);
  }
}

void UseSingleThreadedTorch() {
  // OpenMP keeps its team size per thread, so each thread has to say it for itself.
  thread_local const bool done = [] {
    at::set_num_threads(1);
    return true;
  }();
  (void)done;
}

}  // namespace sightline
