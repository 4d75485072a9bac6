// A device that is the host: kernels run block by block, thread by thread, in memory of the host.
// Slow, and what tests hold kernels and those who launch them to.
#ifndef SIGHTLINE_COMMON_DEVICE_HOST_DEVICE_H_
#define SIGHTLINE_COMMON_DEVICE_HOST_DEVICE_H_

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <typeindex>
#include <typeinfo>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "common/device/block.h"
#include "common/device/device_info.h"

namespace sightline::device {

class HostWarp {
 public:
  explicit HostWarp(int index) : index_(index) {}

  int index() const { return index_; }  // in the block

  template <typename Work>
  void Step(const Work& work) {
    for (int lane = 0; lane < kLanes; ++lane) work(lane);
  }

  int Sum(const PerLane<int>& of) const {
    int sum = 0;
    for (int lane = 0; lane < kLanes; ++lane) sum += of[lane];
    return sum;
  }

  template <typename T>
  PerLane<T> Xor(const PerLane<T>& of, int mask) const {
    PerLane<T> got;
    for (int lane = 0; lane < kLanes; ++lane) got[lane] = of[lane ^ mask];
    return got;
  }

 private:
  const int index_;
};

class HostBlock {
 public:
  HostBlock(int index, int count, int threads) : index_(index), count_(count), threads_(threads) {}

  int index() const { return index_; }  // in the grid
  int count() const { return count_; }  // of the grid
  int threads() const { return threads_; }

  template <typename Work>
  void Step(const Work& work) {
    for (int thread = 0; thread < threads_; ++thread) work(thread);
  }

  template <typename Work>
  void Warps(const Work& work) {
    for (int i = 0; i < threads_ / kLanes; ++i) {
      HostWarp warp(i);
      work(warp);
    }
  }

 private:
  const int index_;
  const int count_;
  const int threads_;
};

// As CudaDevice, at the latest possible moment: what is asked for is done by Wait.  Copies are the
// same device.
class HostDevice {
 public:
  // With `memory_bytes` to give.
  explicit HostDevice(int64_t memory_bytes = INT64_MAX) : state_(std::make_shared<State>()) {
    state_->left = memory_bytes;
  }

  absl::StatusOr<void*> Allocate(int64_t bytes) {
    if (bytes > state_->left) {
      return absl::ResourceExhaustedError(
          absl::StrCat("the device has no ", bytes, " bytes left; ", state_->left, " are free"));
    }
    state_->left -= bytes;
    return Rubbish(bytes);
  }
  void Free(void* memory, int64_t bytes) {
    std::free(memory);
    state_->left += bytes;
  }
  absl::StatusOr<void*> AllocateOnHost(int64_t bytes) { return Rubbish(bytes); }
  void FreeOnHost(void* memory) { std::free(memory); }

  int64_t free_bytes() const { return state_->left; }
  int64_t launches() const { return state_->launches; }
  template <typename Kernel>
  int64_t launches_of() const {
    const auto found = state_->launches_of.find(std::type_index(typeid(Kernel)));
    return found == state_->launches_of.end() ? 0 : found->second;
  }
  // Of what was asked for and is not done.
  size_t waiting() const { return state_->waiting.size(); }

  // From now on all that is asked for fails so; OK: no more.
  void Break(absl::Status failure) { state_->failure = std::move(failure); }
  // The same once as much more has been asked for.
  void BreakAfter(int64_t requests, absl::Status failure) {
    state_->requests_left = requests;
    state_->later_failure = std::move(failure);
  }

  template <typename Kernel>
  absl::Status Prepare() {
    return state_->failure;
  }
  template <typename Kernel>
  int MostBlocks() const {
    return 3;
  }

  absl::Status CopyIn(void* to, const void* from, int64_t bytes) {
    state_->copied.in += bytes;
    return Later([=] { std::memcpy(to, from, bytes); });
  }
  absl::Status CopyOut(void* to, const void* from, int64_t bytes) {
    state_->copied.out += bytes;
    return Later([=] { std::memcpy(to, from, bytes); });
  }
  CopiedBytes copied() const { return state_->copied; }
  absl::Status Clear(void* memory, int64_t bytes) {
    return Later([=] { std::memset(memory, 0, bytes); });
  }
  template <typename Kernel>
  absl::Status Launch(int blocks, const Kernel& kernel) {
    ++state_->launches;
    ++state_->launches_of[std::type_index(typeid(Kernel))];
    return Later([=] {
      for (int i = 0; i < blocks; ++i) {
        HostBlock block(i, blocks, Kernel::kThreads);
        const auto shared = std::make_unique<typename Kernel::Shared>();
        std::memset(static_cast<void*>(shared.get()), 0xA5, sizeof(*shared));
        kernel(block, *shared);
      }
    });
  }

  // What was asked for, to be asked for again at once.
  using Recording = std::vector<std::function<void()>>;

  // From now on nothing can be recorded.
  void RefuseToRecord() { state_->records = false; }

  // Of what `ask` asks for, none of which is done.
  template <typename Ask>
  absl::StatusOr<Recording> Record(const Ask& ask) {
    if (!state_->records) return absl::UnavailableError("somebody else waits for the device");
    std::vector<std::function<void()>> others = std::exchange(state_->waiting, {});
    const absl::Status asked = ask();
    Recording recording = std::exchange(state_->waiting, std::move(others));
    if (!asked.ok()) return asked;
    return recording;
  }
  absl::Status Replay(const Recording& recording) {
    for (const auto& work : recording) {
      const absl::Status asked = Later(work);
      if (!asked.ok()) return asked;
    }
    return absl::OkStatus();
  }

  // Nobody is shown it.
  class Range {
   public:
    Range(const char* /*name*/, int64_t /*count*/) {}
    ~Range() {}
    Range(const Range&) = delete;
    Range& operator=(const Range&) = delete;
  };

  absl::Status Wait() {
    for (const auto& work : std::exchange(state_->waiting, {})) work();
    return state_->failure;
  }

 private:
  struct State {
    int64_t left = 0;
    int64_t launches = 0;
    std::map<std::type_index, int64_t> launches_of;
    bool records = true;
    CopiedBytes copied;
    std::vector<std::function<void()>> waiting;
    absl::Status failure;
    int64_t requests_left = -1;  // until the device breaks; negative: it does not
    absl::Status later_failure;
  };

  // Exactly as much, and nothing known in it, so that sanitizers see what goes wrong.
  static void* Rubbish(int64_t bytes) {
    void* const memory = std::malloc(bytes);
    std::memset(memory, 0xA5, bytes);
    return memory;
  }

  absl::Status Later(std::function<void()> work) {
    if (state_->requests_left >= 0 && state_->requests_left-- == 0) {
      state_->failure = state_->later_failure;
    }
    if (state_->failure.ok()) state_->waiting.push_back(std::move(work));
    return state_->failure;
  }

  const std::shared_ptr<State> state_;
};

}  // namespace sightline::device

#endif  // SIGHTLINE_COMMON_DEVICE_HOST_DEVICE_H_
