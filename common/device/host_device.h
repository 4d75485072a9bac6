// A device that is the host: kernels run block by block, thread by thread, in memory of the host.
// Slow, and what tests hold kernels and those who launch them to.
#ifndef SIGHTLINE_COMMON_DEVICE_HOST_DEVICE_H_
#define SIGHTLINE_COMMON_DEVICE_HOST_DEVICE_H_

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
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
#include "common/base/mutex.h"
#include "common/device/block.h"
#include "common/device/device_info.h"
#include "common/device/tiles.h"

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

  template <typename Left, typename Right, typename Out>
  void MultiplyTiles(const Left& left, const Right& right, const Out& out) const {
    LeftTile lefts[kLanes];
    RightTile rights[kLanes];
    ProductTile* outs[kLanes];
    for (int lane = 0; lane < kLanes; ++lane) {
      lefts[lane] = left(lane);
      rights[lane] = right(lane);
      outs[lane] = out(lane);
    }
    device::MultiplyTiles(lefts, rights, outs);
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
// same device and the same stream of it.
class HostDevice {
  struct AllStreams {
    explicit AllStreams(int64_t memory_bytes) : left(memory_bytes) {}

    absl::Status Failure() EXCLUDES(mutex) {
      MutexLock lock(mutex);
      return failure;
    }

    std::atomic<int64_t> left;
    std::atomic<int64_t> waiting{0};  // of what was asked for in any stream
    std::atomic<bool> records{true};
    Mutex mutex;
    int64_t launches GUARDED_BY(mutex) = 0;
    std::map<std::type_index, int64_t> launches_of GUARDED_BY(mutex);
    absl::Status failure GUARDED_BY(mutex);
    int64_t requests_left GUARDED_BY(mutex) = -1;  // until it breaks; negative: it does not
    absl::Status later_failure GUARDED_BY(mutex);
  };

  // A stream's.
  struct State {
    using Work = std::vector<std::function<void()>>;

    explicit State(std::shared_ptr<AllStreams> of) : all(std::move(of)) {}
    ~State() { all->waiting -= asked - begun; }

    // The first `count` pieces of work of all that were ever asked for, in their order, whoever
    // else waits for them.
    void RunUpTo(int64_t count) EXCLUDES(running, mutex) {
      MutexLock alone(running);
      while (const std::function<void()> work = Next(count)) {
        work();
        --all->waiting;
      }
    }

    // Null if so many have begun.
    std::function<void()> Next(int64_t count) EXCLUDES(mutex) {
      MutexLock lock(mutex);
      if (begun >= count || waiting.empty()) return nullptr;
      std::function<void()> work = std::move(waiting.front());
      waiting.pop_front();
      ++begun;
      return work;
    }

    void Add(std::function<void()> work) EXCLUDES(mutex) {
      MutexLock lock(mutex);
      if (recording != nullptr) {
        recording->push_back(std::move(work));
        return;
      }
      waiting.push_back(std::move(work));
      ++asked;
      ++all->waiting;
    }

    int64_t Asked() EXCLUDES(mutex) {
      MutexLock lock(mutex);
      return asked;
    }

    // From now on to `to`; null: no more.
    void RecordTo(Work* to) EXCLUDES(mutex) {
      MutexLock lock(mutex);
      recording = to;
    }

    const std::shared_ptr<AllStreams> all;
    CopiedBytes copied;
    Mutex running;
    Mutex mutex;
    std::deque<std::function<void()>> waiting GUARDED_BY(mutex);
    int64_t asked GUARDED_BY(mutex) = 0;
    int64_t begun GUARDED_BY(mutex) = 0;
    Work* recording GUARDED_BY(mutex) = nullptr;
  };

 public:
  // With `memory_bytes` to give.
  explicit HostDevice(int64_t memory_bytes = INT64_MAX)
      : all_(std::make_shared<AllStreams>(memory_bytes)), state_(std::make_shared<State>(all_)) {}

  // Another stream of this device, which another thread may use meanwhile: memory and failures are
  // the same, all else is its own.
  absl::StatusOr<HostDevice> NewStream() const {
    HostDevice stream(*this);
    stream.state_ = std::make_shared<State>(all_);
    return stream;
  }

  absl::StatusOr<void*> Allocate(int64_t bytes) {
    const int64_t before = all_->left.fetch_sub(bytes);
    if (bytes > before) {
      all_->left += bytes;
      return absl::ResourceExhaustedError(
          absl::StrCat("the device has no ", bytes, " bytes left; ", before, " are free"));
    }
    return Rubbish(bytes);
  }
  void Free(void* memory, int64_t bytes) {
    std::free(memory);
    all_->left += bytes;
  }
  absl::StatusOr<void*> AllocateOnHost(int64_t bytes) { return Rubbish(bytes); }
  void FreeOnHost(void* memory) { std::free(memory); }

  int64_t free_bytes() const { return all_->left; }
  // Of all streams.
  int64_t launches() const {
    MutexLock lock(all_->mutex);
    return all_->launches;
  }
  template <typename Kernel>
  int64_t launches_of() const {
    MutexLock lock(all_->mutex);
    const auto found = all_->launches_of.find(std::type_index(typeid(Kernel)));
    return found == all_->launches_of.end() ? 0 : found->second;
  }
  // Of what was asked for in this stream and is not done; and in any of them.
  size_t waiting() const {
    MutexLock lock(state_->mutex);
    return state_->waiting.size();
  }
  int64_t waiting_in_all() const { return all_->waiting; }

  // From now on all that is asked for fails so; OK: no more.
  void Break(absl::Status failure) {
    MutexLock lock(all_->mutex);
    all_->failure = std::move(failure);
  }
  // The same once as much more has been asked for.
  void BreakAfter(int64_t requests, absl::Status failure) {
    MutexLock lock(all_->mutex);
    all_->requests_left = requests;
    all_->later_failure = std::move(failure);
  }

  template <typename Kernel>
  absl::Status Prepare() {
    return all_->Failure();
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
    {
      MutexLock lock(all_->mutex);
      ++all_->launches;
      ++all_->launches_of[std::type_index(typeid(Kernel))];
    }
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
  void RefuseToRecord() { all_->records = false; }

  // Of what `ask` asks for, none of which is done.
  template <typename Ask>
  absl::StatusOr<Recording> Record(const Ask& ask) {
    if (!all_->records) return absl::UnavailableError("somebody else waits for the device");
    Recording recording;
    state_->RecordTo(&recording);
    const absl::Status asked = ask();
    state_->RecordTo(nullptr);
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

  // What a stream has been asked for until it is marked; nothing before that.
  class Event {
   public:
    absl::Status Wait() const {
      stream_->RunUpTo(*count_);
      return stream_->all->Failure();
    }

   private:
    friend class HostDevice;
    std::shared_ptr<State> stream_;
    std::shared_ptr<std::atomic<int64_t>> count_;
  };

  // To be marked in this stream.
  absl::StatusOr<Event> NewEvent() const {
    Event event;
    event.stream_ = state_;
    event.count_ = std::make_shared<std::atomic<int64_t>>(0);
    return event;
  }
  absl::Status Mark(const Event& event) {
    *event.count_ = state_->Asked();
    return all_->Failure();
  }
  // What is asked for from now on is done after what the event, of another stream, has been marked
  // for.
  absl::Status After(const Event& event) {
    return Later(
        [stream = event.stream_, count = event.count_->load()] { stream->RunUpTo(count); });
  }

  absl::Status Wait() {
    state_->RunUpTo(INT64_MAX);
    return all_->Failure();
  }

 private:
  // Exactly as much, and nothing known in it, so that sanitizers see what goes wrong.
  static void* Rubbish(int64_t bytes) {
    void* const memory = std::malloc(bytes);
    std::memset(memory, 0xA5, bytes);
    return memory;
  }

  absl::Status Later(std::function<void()> work) {
    MutexLock lock(all_->mutex);
    if (all_->requests_left >= 0 && all_->requests_left-- == 0) {
      all_->failure = all_->later_failure;
    }
    if (all_->failure.ok()) state_->Add(std::move(work));
    return all_->failure;
  }

  const std::shared_ptr<AllStreams> all_;
  std::shared_ptr<State> state_;
};

}  // namespace sightline::device

#endif  // SIGHTLINE_COMMON_DEVICE_HOST_DEVICE_H_
