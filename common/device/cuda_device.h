// A device of CUDA, for .cu files.
#ifndef SIGHTLINE_COMMON_DEVICE_CUDA_DEVICE_H_
#define SIGHTLINE_COMMON_DEVICE_CUDA_DEVICE_H_

#ifndef __CUDACC__
#error "for files that nvcc compiles"
#endif

#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>

#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "common/base/error_details.h"
#include "common/base/status_macros.h"
#include "common/device/block.h"
#include "common/device/device_info.h"
#include "common/device/tiles.h"

namespace sightline::device {

class CudaWarp {
 public:
  SIGHTLINE_DEVICE int index() const { return threadIdx.x / kLanes; }

  template <typename Work>
  SIGHTLINE_DEVICE void Step(const Work& work) {
    work(static_cast<int>(threadIdx.x % kLanes));
  }

  SIGHTLINE_DEVICE int Sum(const PerLane<int>& of) const {
    return __reduce_add_sync(0xFFFFFFFFu, of[0]);
  }

  template <typename T>
  SIGHTLINE_DEVICE PerLane<T> Xor(const PerLane<T>& of, int mask) const {
    PerLane<T> got;
    got[0] = __shfl_xor_sync(0xFFFFFFFFu, of[0], mask);
    return got;
  }

  template <typename Left, typename Right, typename Out>
  SIGHTLINE_DEVICE void MultiplyTiles(const Left& left, const Right& right, const Out& out) const {
    const int lane = static_cast<int>(threadIdx.x % kLanes);
    device::MultiplyTiles(left(lane), right(lane), out(lane));
  }
};

class CudaBlock {
 public:
  SIGHTLINE_DEVICE int index() const { return blockIdx.x; }
  SIGHTLINE_DEVICE int count() const { return gridDim.x; }
  SIGHTLINE_DEVICE int threads() const { return blockDim.x; }

  template <typename Work>
  SIGHTLINE_DEVICE void Step(const Work& work) {
    work(static_cast<int>(threadIdx.x));
    __syncthreads();
  }

  template <typename Work>
  SIGHTLINE_DEVICE void Warps(const Work& work) {
    CudaWarp warp;
    work(warp);
    __syncthreads();
  }
};

template <typename Kernel>
__global__ void __launch_bounds__(Kernel::kThreads, Kernel::kBlocksAtOnce)
    RunKernel(const Kernel kernel) {
  __shared__ typename Kernel::Shared shared;
  CudaBlock block;
  kernel(block, shared);
}

// OK, or what CUDA says, with what was being done: RESOURCE_EXHAUSTED where memory was missing, and
// UNAVAILABLE (DEVICE_FAILED) for all else, since another replica's device may do better.
inline absl::Status StatusOf(cudaError_t error, absl::string_view what) {
  if (error == cudaSuccess) return absl::OkStatus();
  (void)cudaGetLastError();  // or another call of this thread would be told of it
  const std::string message =
      absl::StrCat(what, ": ", cudaGetErrorName(error), ": ", cudaGetErrorString(error));
  return error == cudaErrorMemoryAllocation ? absl::ResourceExhaustedError(message)
                                            : MakeError(reasons::kDeviceFailed, message);
}

// One device and a stream of its own on it, in which all that is asked for is done in its order.
// Belongs to one thread at a time.  Memory is given back before it is destroyed.
class CudaDevice {
 public:
  // What number `index` of the machine's devices is, without opening it.
  static absl::StatusOr<DeviceInfo> Describe(int index) {
    cudaDeviceProp properties;
    RETURN_IF_ERROR(StatusOf(cudaGetDeviceProperties(&properties, index),
                             absl::StrCat("asking for device ", index)));
    return DeviceInfo{properties.name, static_cast<int64_t>(properties.totalGlobalMem)};
  }

  // Number `index` of the machine's devices, with a stream of its own.
  static absl::StatusOr<CudaDevice> Open(int index) {
    CudaDevice device(index);
    RETURN_IF_ERROR(device.OpenStream());
    return device;
  }

  ~CudaDevice() {
    if (stream_ == nullptr) return;
    (void)cudaSetDevice(index_);
    (void)cudaStreamDestroy(stream_);
  }
  CudaDevice(CudaDevice&& other) noexcept
      : index_(other.index_),
        processors_(other.processors_),
        copied_(other.copied_),
        stream_(std::exchange(other.stream_, nullptr)) {}
  CudaDevice& operator=(CudaDevice&&) = delete;

  absl::StatusOr<void*> Allocate(int64_t bytes) {
    void* memory = nullptr;
    RETURN_IF_ERROR(Use());
    const cudaError_t error = cudaMalloc(&memory, static_cast<size_t>(bytes));
    if (error == cudaSuccess) return memory;
    return StatusOf(error, absl::StrCat("cannot reserve ", bytes, " bytes on device ", index_));
  }

  void Free(void* memory, int64_t /*bytes*/) {
    (void)cudaSetDevice(index_);
    (void)cudaFree(memory);
  }

  // Memory of the host that copies need not be staged for.
  absl::StatusOr<void*> AllocateOnHost(int64_t bytes) {
    void* memory = nullptr;
    RETURN_IF_ERROR(Use());
    RETURN_IF_ERROR(StatusOf(cudaMallocHost(&memory, static_cast<size_t>(bytes)),
                             absl::StrCat("cannot pin ", bytes, " bytes")));
    return memory;
  }
  void FreeOnHost(void* memory) {
    (void)cudaSetDevice(index_);
    (void)cudaFreeHost(memory);
  }

  // Loads a kernel, so that a device for which none was compiled is found out before anything is
  // asked for, and memory for it is taken.
  template <typename Kernel>
  absl::Status Prepare() {
    RETURN_IF_ERROR(Use());
    cudaFuncAttributes attributes;
    return StatusOf(cudaFuncGetAttributes(&attributes, RunKernel<Kernel>),
                    absl::StrCat("device ", index_, " cannot run what was compiled"));
  }

  // Blocks of a kernel that run at once.
  template <typename Kernel>
  int MostBlocks() const {
    int blocks = 0;
    const cudaError_t error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(
        &blocks, RunKernel<Kernel>, Kernel::kThreads, 0);
    return error == cudaSuccess && blocks > 0 ? blocks * processors_ : processors_;
  }

  // `from` and `to` of the host stay as they are until Wait has returned.
  absl::Status CopyIn(void* to, const void* from, int64_t bytes) {
    copied_.in += bytes;
    return Copy(to, from, bytes, cudaMemcpyHostToDevice, "copying to the device");
  }
  absl::Status CopyOut(void* to, const void* from, int64_t bytes) {
    copied_.out += bytes;
    return Copy(to, from, bytes, cudaMemcpyDeviceToHost, "copying from the device");
  }
  absl::Status Clear(void* memory, int64_t bytes) {
    RETURN_IF_ERROR(Use());
    return StatusOf(cudaMemsetAsync(memory, 0, static_cast<size_t>(bytes), stream_), "clearing");
  }

  template <typename Kernel>
  absl::Status Launch(int blocks, const Kernel& kernel) {
    RETURN_IF_ERROR(Use());
    Kernel argument = kernel;
    void* arguments[] = {&argument};
    return StatusOf(cudaLaunchKernel(RunKernel<Kernel>, dim3(blocks), dim3(Kernel::kThreads),
                                     arguments, 0, stream_),
                    "launching a kernel");
  }

  // What was asked for, to be asked for again at once.
  class Recording {
   public:
    Recording(int device, cudaGraphExec_t launches) : device_(device), launches_(launches) {}
    ~Recording() {
      if (launches_ == nullptr) return;
      (void)cudaSetDevice(device_);
      (void)cudaGraphExecDestroy(launches_);
    }
    Recording(Recording&& other) noexcept
        : device_(other.device_), launches_(std::exchange(other.launches_, nullptr)) {}
    Recording& operator=(Recording&&) = delete;

   private:
    friend class CudaDevice;
    int device_;
    cudaGraphExec_t launches_;
  };

  // Of what `ask` asks for, none of which is done; it does not throw.  Kernels have been launched
  // before: what loads one cannot be recorded.
  template <typename Ask>
  absl::StatusOr<Recording> Record(const Ask& ask) {
    RETURN_IF_ERROR(Use());
    RETURN_IF_ERROR(StatusOf(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal),
                             "beginning to record"));
    const absl::Status asked = ask();
    cudaGraph_t graph = nullptr;
    const absl::Status ended =
        StatusOf(cudaStreamEndCapture(stream_, &graph), "recording what is launched");
    cudaGraphExec_t launches = nullptr;
    absl::Status made = asked.ok() ? ended : asked;
    if (made.ok()) {
      made = StatusOf(cudaGraphInstantiate(&launches, graph, 0), "making a graph of a recording");
    }
    if (graph != nullptr) (void)cudaGraphDestroy(graph);
    RETURN_IF_ERROR(made);
    return Recording(index_, launches);
  }
  absl::Status Replay(const Recording& recording) {
    RETURN_IF_ERROR(Use());
    return StatusOf(cudaGraphLaunch(recording.launches_, stream_), "launching a graph");
  }

  // From its beginning to its end, of the calling thread, as profilers show it (NVTX's domain
  // "sightline") beside what the device does meanwhile, with how much it is of; costs next to
  // nothing where none looks.
  class Range {
   public:
    Range(const char* name, int64_t count) {
      nvtxEventAttributes_t event = {};
      event.version = NVTX_VERSION;
      event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
      event.messageType = NVTX_MESSAGE_TYPE_ASCII;
      event.message.ascii = name;
      event.payloadType = NVTX_PAYLOAD_TYPE_INT64;
      event.payload.llValue = count;
      (void)nvtxDomainRangePushEx(Domain(), &event);
    }
    ~Range() { (void)nvtxDomainRangePop(Domain()); }
    Range(const Range&) = delete;
    Range& operator=(const Range&) = delete;

   private:
    static nvtxDomainHandle_t Domain() {
      static const nvtxDomainHandle_t domain = nvtxDomainCreateA("sightline");
      return domain;
    }
  };

  // Since it was opened; of recorded copies those that were asked for one by one.
  CopiedBytes copied() const { return copied_; }

  // Another stream of this device, which another thread may use meanwhile.
  absl::StatusOr<CudaDevice> NewStream() const { return Open(index_); }

  // What a stream has been asked for until it is marked.  Goes before its device.
  class Event {
   public:
    Event(int device, cudaEvent_t event) : device_(device), event_(event) {}
    ~Event() {
      if (event_ == nullptr) return;
      (void)cudaSetDevice(device_);
      (void)cudaEventDestroy(event_);
    }
    Event(Event&& other) noexcept
        : device_(other.device_), event_(std::exchange(other.event_, nullptr)) {}
    Event& operator=(Event&&) = delete;

    absl::Status Wait() const {
      return StatusOf(cudaEventSynchronize(event_), "waiting for the device");
    }

   private:
    friend class CudaDevice;
    int device_;
    cudaEvent_t event_;
  };

  // To be marked in this stream.
  absl::StatusOr<Event> NewEvent() const {
    RETURN_IF_ERROR(Use());
    cudaEvent_t event = nullptr;
    RETURN_IF_ERROR(StatusOf(cudaEventCreateWithFlags(&event, cudaEventDisableTiming),
                             "making an event of the device"));
    return Event(index_, event);
  }
  absl::Status Mark(const Event& event) {
    RETURN_IF_ERROR(Use());
    return StatusOf(cudaEventRecord(event.event_, stream_), "marking a stream");
  }
  // What is asked for from now on is done after that.
  absl::Status After(const Event& event) {
    RETURN_IF_ERROR(Use());
    return StatusOf(cudaStreamWaitEvent(stream_, event.event_, 0), "waiting for another stream");
  }

  // For libraries that launch kernels of their own.
  cudaStream_t stream() const { return stream_; }

  absl::Status Wait() {
    RETURN_IF_ERROR(Use());
    return StatusOf(cudaStreamSynchronize(stream_), "waiting for the device");
  }

 private:
  explicit CudaDevice(int index) : index_(index) {}

  absl::Status OpenStream() {
    RETURN_IF_ERROR(Use());
    RETURN_IF_ERROR(
        StatusOf(cudaDeviceGetAttribute(&processors_, cudaDevAttrMultiProcessorCount, index_),
                 "asking for the device's processors"));
    return StatusOf(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking),
                    "opening a stream on the device");
  }

  // The thread's calls go to this device.
  absl::Status Use() const {
    return StatusOf(cudaSetDevice(index_), absl::StrCat("device ", index_, " cannot be used"));
  }

  absl::Status Copy(void* to, const void* from, int64_t bytes, cudaMemcpyKind kind,
                    absl::string_view what) {
    RETURN_IF_ERROR(Use());
    return StatusOf(cudaMemcpyAsync(to, from, static_cast<size_t>(bytes), kind, stream_), what);
  }

  const int index_;
  int processors_ = 1;
  CopiedBytes copied_;
  cudaStream_t stream_ = nullptr;
};

}  // namespace sightline::device

#endif  // SIGHTLINE_COMMON_DEVICE_CUDA_DEVICE_H_
