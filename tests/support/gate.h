// A door that threads wait at until it is opened; it stays open.
//
//   Gate entered, release;
//   auto work = [&] { entered.Open(); release.Wait(); };
//
// Made of Mutex, unlike absl::Notification, so that the thread sanitizer sees the
// order it creates.
#ifndef SIGHTLINE_TESTS_SUPPORT_GATE_H_
#define SIGHTLINE_TESTS_SUPPORT_GATE_H_

#include "common/base/mutex.h"

namespace sightline {

// Thread-safe.
class Gate {
 public:
  void Open() {
    MutexLock lock(mutex_);
    open_ = true;
    // Under the lock: a waiter may destroy the gate as soon as it has seen it open.
    changed_.NotifyAll();
  }

  bool IsOpen() {
    MutexLock lock(mutex_);
    return open_;
  }

  void Wait() {
    MutexLock lock(mutex_);
    while (!open_) changed_.Wait(mutex_);
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  bool open_ GUARDED_BY(mutex_) = false;
};

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_SUPPORT_GATE_H_
