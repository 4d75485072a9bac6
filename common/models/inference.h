// How a batch becomes forward passes, which are spread over the compute pool: items of equal
// length side by side, since attention takes those in one go.  Knows no family and shows no
// torch header.
//
//   std::vector<Group> groups = GroupByShape(shapes, {pool->threads()});
//   RETURN_IF_ERROR(RunGroups(pool, groups, call, "encode texts",
//                             [&](const Group& group) { return ...; }));
#ifndef SIGHTLINE_COMMON_MODELS_INFERENCE_H_
#define SIGHTLINE_COMMON_MODELS_INFERENCE_H_

#include <cstdint>
#include <exception>
#include <functional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/base/call_context.h"
#include "common/base/compute_pool.h"

namespace sightline {

// What code that LibTorch calls, or that gives tensors, ends with instead of a status.
class StatusError : public std::exception {
 public:
  // Not OK.
  explicit StatusError(absl::Status status) : status_(std::move(status)) {}

  const absl::Status& status() const { return status_; }
  const char* what() const noexcept override { return "see status()"; }

 private:
  absl::Status status_;
};

// Rows that one item brings to a pass.
struct ItemShape {
  int64_t text_rows = 0;
  int64_t region_rows = 0;
};

// Indexes into the batch, in the order in which the pass holds them; never empty.
using Group = std::vector<int64_t>;

struct GroupingOptions {
  // Passes are made small enough that each of this many threads gets work.
  int threads = 1;
  // Most rows of one pass; bounds its memory.  An item longer than this has a pass to
  // itself.
  int64_t max_rows = 1024;
  // One item per pass, in order.
  bool one_each = false;
  // Only items of equal shape share a pass: for what would pad them.
  bool equal_shapes = false;
};

// Splits a batch into passes.  Every index occurs once; items of equal shape are neighbours.
std::vector<Group> GroupByShape(absl::Span<const ItemShape> shapes, const GroupingOptions& options);

// Calls `run` once for each group, on the pool's threads (in the caller's if `pool` is
// null), without autograd and with LibTorch's own threading off.  Groups write to
// places of their own.  Before each group the call is checked, so an abandoned one
// stops early.
//
// Returns the error of the first group that has one: what `run` returned; CANCELLED or
// DEADLINE_EXCEEDED, naming `what`; or what an exception became (its status, of a StatusError;
// ResourceExhausted when memory ran out; UNAVAILABLE (DEVICE_FAILED) for what CUDA says to
// LibTorch; else Internal).  A group for which memory ran out is run once more, in halves.
absl::Status RunGroups(ComputePool* pool, absl::Span<const Group> groups, const CallContext& call,
                       absl::string_view what,
                       const std::function<absl::Status(const Group&)>& run);

// The same around one piece of work in the calling thread, for loading and saving.
absl::Status RunGuarded(absl::string_view what, const std::function<absl::Status()>& run);

// What LibTorch says in words alone: ResourceExhausted if memory has run out, UNAVAILABLE
// (DEVICE_FAILED) if CUDA failed, FailedPrecondition if it cannot tell the CPU, as without /proc,
// else Internal, with `what` before the words.
absl::Status StatusOfTorch(absl::string_view what, absl::string_view words);

// Whether LibTorch can compute on a GPU here.
bool LibTorchHasCuda();

// Sets LibTorch to one thread, in the process and in the calling thread.  RunGroups
// does it wherever it computes; a server calls it once at start beside
// ComputePool::SingleThreadedLibraries, so that nothing makes a team of threads before.
void UseSingleThreadedTorch();

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_MODELS_INFERENCE_H_
