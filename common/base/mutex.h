// The locks of the tree: std::mutex, which the thread sanitizer sees through, with the words by
// which clang checks who holds it (thread_annotations.h).
//
//   MutexLock lock(mutex_);                          // held until the scope ends
//   while (queue_.empty()) changed_.Wait(mutex_);    // a loop: the analysis sees no lambda's lock
//
// Who waits for a moment as well, waits with a Clock.
#ifndef SIGHTLINE_COMMON_BASE_MUTEX_H_
#define SIGHTLINE_COMMON_BASE_MUTEX_H_

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>

#include "common/base/thread_annotations.h"

namespace sightline {

// Not recursive.  Rather than by Lock and Unlock, held by one of the locks below.
class CAPABILITY("mutex") Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  void Lock() ACQUIRE() { mutex_.lock(); }
  void Unlock() RELEASE() { mutex_.unlock(); }

 private:
  friend class CondVar;
  std::mutex mutex_;
};

// Holds a mutex, which outlives it, from its beginning to its end.
class SCOPED_CAPABILITY MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) ACQUIRE(mutex) : mutex_(mutex) { mutex_.Lock(); }
  ~MutexLock() RELEASE() { mutex_.Unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

// The same, for who lets go of the mutex on the way: a thread that works off a queue.
class SCOPED_CAPABILITY ReleasableMutexLock {
 public:
  explicit ReleasableMutexLock(Mutex& mutex) ACQUIRE(mutex) : mutex_(mutex) { mutex_.Lock(); }
  ~ReleasableMutexLock() RELEASE() {
    if (held_) mutex_.Unlock();
  }
  ReleasableMutexLock(const ReleasableMutexLock&) = delete;
  ReleasableMutexLock& operator=(const ReleasableMutexLock&) = delete;

  // By turns: Unlock where it is held, Lock where it is not.
  void Unlock() RELEASE() {
    held_ = false;
    mutex_.Unlock();
  }
  void Lock() ACQUIRE() {
    mutex_.Lock();
    held_ = true;
  }

 private:
  Mutex& mutex_;
  bool held_ = true;
};

class Fiber;

// Thread-safe.  All that wait at the same time name the same mutex.  Who waits in a fiber leaves
// its thread to others meanwhile (fiber.h).
class CondVar {
 public:
  CondVar() = default;
  CondVar(const CondVar&) = delete;
  CondVar& operator=(const CondVar&) = delete;

  // Lets go of `mutex`, waits to be notified, and takes it again.  May wake for no reason, so
  // callers loop over their condition.
  void Wait(Mutex& mutex) REQUIRES(mutex);

  // The same, for no longer than `most` of real time: what Clock::Real() waits by.
  void WaitFor(Mutex& mutex, std::chrono::nanoseconds most) REQUIRES(mutex);

  void NotifyOne();
  void NotifyAll();

 private:
  struct FiberWait;

  void WaitInFiber(Mutex& mutex, Fiber& fiber, std::chrono::steady_clock::time_point until);
  bool ResumeFirst();

  std::condition_variable notified_;
  std::mutex fibers_mutex_;
  std::atomic<FiberWait*> fibers_{nullptr};  // a list in the order in which they came
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_BASE_MUTEX_H_
