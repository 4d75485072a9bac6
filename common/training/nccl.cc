// Before all else, as LibTorch's headers look at it: without it they declare no NCCL.
#ifdef SIGHTLINE_NCCL
#define USE_C10D_NCCL
#endif

#include "common/training/nccl.h"

#ifdef SIGHTLINE_NCCL
#include <ATen/cuda/CUDAContext.h>
#include <nccl.h>
#include <torch/csrc/cuda/nccl.h>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>

#include <cstdlib>
#endif

#include <set>

namespace sightline {

bool EachHasItsOwnGpu(const std::vector<std::string>& ids) {
  const std::set<std::string> distinct(ids.begin(), ids.end());
  return distinct.count("") == 0 && distinct.size() == ids.size();
}

#ifdef SIGHTLINE_NCCL

namespace {

#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 2)
constexpr char kBlockingWait[] = "TORCH_NCCL_BLOCKING_WAIT";
#else
constexpr char kBlockingWait[] = "NCCL_BLOCKING_WAIT";
#endif

// c10d's classes hold structures of NCCL's, whose sizes differ from one of its versions to another:
// LibTorch's has to be that of the headers.
bool HasVersionOfHeaders() {
  constexpr uint64_t kOfHeaders = uint64_t{NCCL_MAJOR} << 32 | uint64_t{NCCL_MINOR} << 16;
  constexpr uint64_t kMajorAndMinor = ~uint64_t{0xffff};
  return (torch::cuda::nccl::version() & kMajorAndMinor) == kOfHeaders;
}

}  // namespace

std::string GpuIdForNccl(c10::Device device) {
  if (!device.is_cuda() || !HasVersionOfHeaders()) return "";
  const auto& id = at::cuda::getDeviceProperties(device.index())->uuid.bytes;
  static_assert(sizeof(id) == kGpuIdBytes, "a UUID's bytes");
  return std::string(id, sizeof(id));
}

void PrepareNccl(const TrainingWorldOptions& options) {
  const std::string interface =
      options.interface.empty() && options.all_local ? "lo" : options.interface;
  if (!interface.empty()) setenv("NCCL_SOCKET_IFNAME", interface.c_str(), /*overwrite=*/0);
  // Without it a wait ends when the work is queued, and what goes wrong afterwards ends the process
  // from a thread of c10d's.
  setenv(kBlockingWait, "1", /*overwrite=*/1);
}

c10::intrusive_ptr<CollectiveEngine> NcclBetween(const c10::intrusive_ptr<c10d::Store>& store,
                                                 const TrainingWorldOptions& options) {
  const auto of_nccl = c10d::ProcessGroupNCCL::Options::create();
  of_nccl->timeout = absl::ToChronoMilliseconds(options.timeout);
  return c10::make_intrusive<c10d::ProcessGroupNCCL>(
      c10::make_intrusive<c10d::PrefixStore>("nccl", store), options.rank, options.size, of_nccl);
}

#else

std::string GpuIdForNccl(c10::Device) {
  return "";
}

void PrepareNccl(const TrainingWorldOptions&) {}

c10::intrusive_ptr<CollectiveEngine> NcclBetween(const c10::intrusive_ptr<c10d::Store>&,
                                                 const TrainingWorldOptions&) {
  return {};
}

#endif

}  // namespace sightline
