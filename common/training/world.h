// The processes that learn together, and what they tell each other, through the engine that
// LibTorch brings (c10d: a TCPStore where they meet, gloo's collectives between CPUs, NCCL's
// between GPUs).
//
//   ASSIGN_OR_RETURN(const std::unique_ptr<TrainingWorld> world, TrainingWorld::Join(options));
//   const WorldPart own = world->PartOf(batch);  // what this process computes of it
//   ASSIGN_OR_RETURN(const GatheredRows all, world->GatherRows(rows));
//   ... whole.backward(); rows.backward(gradient of all, narrowed to what is own) ...
//   RETURN_IF_ERROR(world->AddUp({gradients}));
//
// A loss that sees the whole batch is computed by every process, of rows that all of them give.  So
// each knows the gradient of its own rows, and hands that on through its own network; the sum over
// processes is the gradient of one process.  No exchange stands in a backward pass, where an error
// could not be told.
//
// What lies on GPUs NCCL exchanges where every process has a GPU of its own and was built with a
// LibTorch that has NCCL, and where a first exchange by it succeeds in all.  Else it goes through
// the memory of their hosts, where gloo sums as it does for CPUs, and back, in each exchange.
//
// All processes call the same operations in the same order, else they wait for each other until
// `timeout`.  What a process calls after a failure fails as that did: its world has ended.  In a
// world of one an operation does nothing and succeeds.
//
// Includes torch: only .cc files of common/training and its tests include this.
#ifndef SIGHTLINE_COMMON_TRAINING_WORLD_H_
#define SIGHTLINE_COMMON_TRAINING_WORLD_H_

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/training/world_options.h"

namespace sightline {

// Rows `begin` to below `end`.
struct WorldPart {
  int64_t begin = 0, end = 0;
  int64_t count() const { return end - begin; }
};

// All processes' rows, in the order of their numbers; those of this one begin at `begin`.
struct GatheredRows {
  at::Tensor rows;
  int64_t begin = 0;
};

// Not thread-safe.
class TrainingWorld {
 public:
  // Of one process.
  TrainingWorld();
  // Waits until all have come.  This one computes on `device`.  InvalidArgument for numbers that no
  // world has; Unimplemented where LibTorch was built, or is installed, without gloo; Unavailable,
  // naming the meeting place, if the others are not there in time.
  static absl::StatusOr<std::unique_ptr<TrainingWorld>> Join(const TrainingWorldOptions& options,
                                                             c10::Device device = c10::kCPU);
  ~TrainingWorld();
  TrainingWorld(const TrainingWorld&) = delete;
  TrainingWorld& operator=(const TrainingWorld&) = delete;

  int rank() const { return options_.rank; }
  int size() const { return options_.size; }
  bool is_first() const { return rank() == 0; }
  bool is_alone() const { return size() == 1; }
  // What exchanges tensors of this process's device, for people: "nccl", or "gloo" and what of NCCL
  // failed, if something did.  Empty in a world of one.
  const std::string& engine() const { return engine_; }

  // What this process has of `count` rows: the next after those of the process before it, as many
  // as the others have, or one more or less.
  WorldPart PartOf(int64_t count) const;

  // In each operation: Unavailable if a process has ended or is not heard of in time, with what
  // the engine says of it.  Tensors lie on the CPU or on this process's device, in all processes
  // alike.

  // Rows N x W of each process, N may differ; where N is 0, W and where they lie are of no matter.
  // What is returned lies where the rows do, and has no graph.  Internal if processes have rows of
  // different widths.
  absl::StatusOr<GatheredRows> GatherRows(const at::Tensor& rows);

  // The sums over all processes, in place; equal in all of them to the bit.
  absl::Status AddUp(const std::vector<at::Tensor>& tensors);
  absl::StatusOr<int64_t> SumOf(int64_t number);

  // Those of process 0, in place.  Of equal shapes and types in all.
  absl::Status TakeFromFirst(const std::vector<at::Tensor>& tensors);
  absl::StatusOr<std::string> TextOfFirst(const std::string& text);

  // OK if all processes' statuses are.  Else this one's own, or where that is OK the first failed
  // one's, with its number.
  absl::Status Agree(const absl::Status& own);

 private:
  struct Group;
  TrainingWorld(const TrainingWorldOptions& options, c10::Device device);

  // Runs what may throw, and keeps the first failure.
  absl::Status Exchange(absl::string_view what, const std::function<void(Group* group)>& run);
  // Each process's; empty if NCCL cannot be called there.
  absl::StatusOr<std::vector<std::string>> GpuIdsOfAll();
  // Takes NCCL where it can, in all processes or in none.
  absl::Status ChooseEngine();
  absl::Status TakeFrom(int rank, const at::Tensor& tensor);
  // A number of each process.
  absl::StatusOr<std::vector<int64_t>> NumbersOf(int64_t number);

  const TrainingWorldOptions options_;
  const c10::Device device_;
  std::unique_ptr<Group> group_;  // null in a world of one
  std::string engine_;
  absl::Status lost_;  // the first failure
};

// Null stands for a world of one.
inline bool IsAlone(const TrainingWorld* world) {
  return world == nullptr || world->is_alone();
}

// TrainingWorld::Agree, where there may be one process alone.
inline absl::Status AgreeIn(TrainingWorld* world, const absl::Status& own) {
  return IsAlone(world) ? own : world->Agree(own);
}

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_TRAINING_WORLD_H_
