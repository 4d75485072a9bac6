// NCCL's collectives, between processes that compute on GPUs of their own: c10d's, where the
// LibTorch that this is built with has them (deploy/bazel/README.md).
//
// Includes torch: only .cc files of common/training and its tests include this.
#ifndef SIGHTLINE_COMMON_TRAINING_NCCL_H_
#define SIGHTLINE_COMMON_TRAINING_NCCL_H_

#include <c10/core/Device.h>
#include <torch/version.h>
#include <torch/csrc/distributed/c10d/Store.hpp>
#if TORCH_VERSION_MAJOR >= 2
#include <torch/csrc/distributed/c10d/Backend.hpp>
#else
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#endif

#include <string>
#include <vector>

#include "common/training/world_options.h"

namespace sightline {

// What c10d's engines, gloo's and NCCL's, have in common.
#if TORCH_VERSION_MAJOR >= 2
using CollectiveEngine = c10d::Backend;
#else
using CollectiveEngine = c10d::ProcessGroup;
#endif

// The bytes of a GPU's UUID, which no other GPU has, of this machine or another.
inline constexpr int kGpuIdBytes = 16;

// The UUID of a GPU by which NCCL can be called; empty for a CPU, and where this is built without
// NCCL or with headers of another NCCL than LibTorch's.  Throws what CUDA says.
std::string GpuIdForNccl(c10::Device device);

// Whether NCCL takes processes with these GPUs: each has one, and none that another has.
bool EachHasItsOwnGpu(const std::vector<std::string>& ids);

// What NCCL is told by the environment alone, where that does not say otherwise: through which
// interface the processes reach each other, and that a wait lasts until an exchange is done.  To be
// called before c10d starts threads.
void PrepareNccl(const TrainingWorldOptions& options);

// NCCL between the processes of a world, each on a GPU of its own.  It takes tensors of that GPU,
// in one piece; a wait for one of its works lasts until the GPU has done it, and throws if that
// takes longer than the world's timeout.  With the first exchange the processes meet at `store`,
// for which NCCL waits as long as it likes.  Null where this is built without NCCL; throws what
// c10d throws.
c10::intrusive_ptr<CollectiveEngine> NcclBetween(const c10::intrusive_ptr<c10d::Store>& store,
                                                 const TrainingWorldOptions& options);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_TRAINING_NCCL_H_
