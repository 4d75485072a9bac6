#include "common/models/inference.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <exception>
#include <initializer_list>
#include <new>
#include <numeric>
#include <string>
#include <tuple>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/error_details.h"
#include "common/base/status_macros.h"

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

bool HasAnyOf(absl::string_view words, std::initializer_list<absl::string_view> parts) {
  return std::any_of(parts.begin(), parts.end(),
                     [&](absl::string_view part) { return absl::StrContains(words, part); });
}

absl::Status Translated(absl::string_view what) {
  try {
    throw;
  } catch (const StatusError& error) {
    return WithPrefix(error.status(), what);
  } catch (const c10::Error& error) {
    return StatusOfTorch(what, error.what_without_backtrace());
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

namespace {

using RunGroup = std::function<absl::Status(const Group&)>;

absl::Status RunOne(const Group& group, const CallContext& call, absl::string_view what,
                    const RunGroup& run) {
  RETURN_IF_ERROR(call.Check(what));
  return RunGuarded(what, [&] {
    UseSingleThreadedTorch();
    c10::InferenceMode no_autograd;
    return run(group);
  });
}

// What has no room at once may have it in halves.
absl::Status RunOneOrHalves(const Group& group, const CallContext& call, absl::string_view what,
                            const RunGroup& run) {
  absl::Status done = RunOne(group, call, what, run);
  if (!absl::IsResourceExhausted(done) || group.size() < 2) return done;
  const auto middle = group.begin() + static_cast<std::ptrdiff_t>(group.size() / 2);
  RETURN_IF_ERROR(RunOne(Group(group.begin(), middle), call, what, run));
  return RunOne(Group(middle, group.end()), call, what, run);
}

}  // namespace

absl::Status RunGroups(ComputePool* pool, absl::Span<const Group> groups, const CallContext& call,
                       absl::string_view what,
                       const std::function<absl::Status(const Group&)>& run) {
  std::vector<absl::Status> results(groups.size());
  auto body = [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      results[i] = RunOneOrHalves(groups[i], call, what, run);
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

absl::Status StatusOfTorch(absl::string_view what, absl::string_view words) {
  const std::string text = absl::StrCat(what, ": ", words);
  if (HasAnyOf(words, {"can't allocate memory", "std::bad_alloc", "CUDA out of memory",
                       "CUDA error: out of memory", "STATUS_ALLOC_FAILED"})) {
    return absl::ResourceExhaustedError(text);
  }
  if (absl::StrContains(words, "cpuinfo initialization failed")) {
    return absl::FailedPreconditionError(absl::StrCat(
        what, ": LibTorch cannot tell what the CPU is; mount /proc and /sys here: ", words));
  }
  if (HasAnyOf(words, {"CUDA error", "cuDNN error", "CUBLAS_STATUS_"})) {
    return MakeError(reasons::kDeviceFailed, text);
  }
  return absl::InternalError(text);
}

bool LibTorchHasCuda() {
  return at::hasCUDA();
}

void UseSingleThreadedTorch() {
  // OpenMP keeps its team size per thread, so each thread has to say it for itself.
  thread_local const bool done = [] {
    try {
      at::set_num_threads(1);
    } catch (const c10::Error&) {
      // OpenMP has it.  LibTorch's other pool needs to know the CPU, which this process cannot tell
      // (StatusOfTorch); what computes says so, as it does not end with it.
    }
    return true;
  }();
  (void)done;
}

}  // namespace sightline
