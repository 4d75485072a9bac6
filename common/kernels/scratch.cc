#include "common/kernels/scratch.h"

#include <cstddef>
#include <utility>
#include <vector>

#include "common/base/mutex.h"

namespace sightline::kernels {
namespace {

// Passes of about the same size shall fit each other's memory.
constexpr int64_t kGrain = int64_t{1} << 18;
constexpr size_t kMostIdle = 64;

// Once made it allocates nothing: what is returned must not fail.
class IdleList {
 public:
  IdleList() { idle_.reserve(kMostIdle); }

  // The last that is large enough, which may still be in a cache; else the last, for which a larger
  // one is to be made; of size 0 if none waits.
  AlignedBuffer Take(int64_t bytes) {
    MutexLock lock(mutex_);
    if (idle_.empty()) return {};
    size_t found = idle_.size();
    while (found > 0 && idle_[found - 1].size() < bytes) --found;
    return Remove(found > 0 ? found - 1 : idle_.size() - 1);
  }

  void Return(AlignedBuffer buffer) {
    if (buffer.size() > kMostIdleScratch) return;
    // Frees without the lock.
    while (MakeRoom(buffer.size()).size() > 0) {
    }
    MutexLock lock(mutex_);
    if (idle_.size() == kMostIdle || bytes_ + buffer.size() > kMostIdleScratch) return;
    bytes_ += buffer.size();
    idle_.push_back(std::move(buffer));
  }

  int64_t bytes() const {
    MutexLock lock(mutex_);
    return bytes_;
  }

 private:
  // The oldest, which leaves for `bytes`; of size 0 if there is room for them.
  AlignedBuffer MakeRoom(int64_t bytes) {
    MutexLock lock(mutex_);
    const bool has_room = idle_.size() < kMostIdle && bytes_ + bytes <= kMostIdleScratch;
    if (has_room || idle_.empty()) return {};
    return Remove(0);
  }

  AlignedBuffer Remove(size_t place) REQUIRES(mutex_) {
    AlignedBuffer removed = std::move(idle_[place]);
    idle_.erase(idle_.begin() + static_cast<int64_t>(place));
    bytes_ -= removed.size();
    return removed;
  }

  mutable Mutex mutex_;
  std::vector<AlignedBuffer> idle_ GUARDED_BY(mutex_);  // the oldest first
  int64_t bytes_ GUARDED_BY(mutex_) = 0;
};

// Never destroyed: threads may end passes while the process ends.
IdleList& Idle() {
  static IdleList* const list = new IdleList;
  return *list;
}

}  // namespace

Scratch::Scratch(int64_t bytes) : buffer_(Idle().Take(bytes)) {
  if (buffer_.size() >= bytes) return;
  buffer_ = AlignedBuffer();  // before there is another
  buffer_ = AlignedBuffer((bytes + kGrain - 1) / kGrain * kGrain);
}

Scratch::~Scratch() {
  Idle().Return(std::move(buffer_));
}

int64_t IdleScratch() {
  return Idle().bytes();
}

}  // namespace sightline::kernels
