// Bytes that may be in use at one time.
#ifndef SIGHTLINE_SERVICES_TRAINER_BYTE_BUDGET_H_
#define SIGHTLINE_SERVICES_TRAINER_BYTE_BUDGET_H_

#include <cstdint>

#include "common/base/mutex.h"

namespace sightline {

// Thread-safe.
class ByteBudget {
 public:
  explicit ByteBudget(int64_t limit) : limit_(limit) {}

  // Waits until there is room, or until nobody else holds any.
  void Take(int64_t bytes) {
    MutexLock lock(mutex_);
    while (used_ > 0 && used_ + bytes > limit_) freed_.Wait(mutex_);
    used_ += bytes;
  }

  void Return(int64_t bytes) {
    {
      MutexLock lock(mutex_);
      used_ -= bytes;
    }
    freed_.NotifyAll();
  }

 private:
  const int64_t limit_;
  Mutex mutex_;
  CondVar freed_;
  int64_t used_ GUARDED_BY(mutex_) = 0;
};

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_TRAINER_BYTE_BUDGET_H_
