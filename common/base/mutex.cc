#include "common/base/mutex.h"

#include "common/base/fiber.h"

namespace sightline {

// A fiber that waits; in its stack.
struct CondVar::FiberWait {
  Fiber* fiber;
  FiberWait* next = nullptr;
  bool notified = false;  // and in the list no more
};

void CondVar::Wait(Mutex& mutex) {
  if (Fiber* const fiber = Fiber::Current()) {
    WaitInFiber(mutex, *fiber, std::chrono::steady_clock::time_point::max());
    return;
  }
  std::unique_lock<std::mutex> lock(mutex.mutex_, std::adopt_lock);
  notified_.wait(lock);
  lock.release();
}

void CondVar::WaitFor(Mutex& mutex, std::chrono::nanoseconds most) {
  if (Fiber* const fiber = Fiber::Current()) {
    WaitInFiber(mutex, *fiber, std::chrono::steady_clock::now() + most);
    return;
  }
  std::unique_lock<std::mutex> lock(mutex.mutex_, std::adopt_lock);
  notified_.wait_for(lock, most);
  lock.release();
}

void CondVar::WaitInFiber(Mutex& mutex, Fiber& fiber, std::chrono::steady_clock::time_point until) {
  FiberWait wait{&fiber};
  {
    const std::lock_guard<std::mutex> lock(fibers_mutex_);
    FiberWait* last = fibers_.load(std::memory_order_relaxed);
    while (last != nullptr && last->next != nullptr) last = last->next;
    if (last == nullptr) {
      fibers_.store(&wait, std::memory_order_relaxed);
    } else {
      last->next = &wait;
    }
  }
  mutex.mutex_.unlock();
  fiber.Suspend(until);
  {
    // Behind whoever notifies it just now.
    const std::lock_guard<std::mutex> lock(fibers_mutex_);
    FiberWait* before = nullptr;
    FiberWait* at = fibers_.load(std::memory_order_relaxed);
    while (!wait.notified && at != &wait) {
      before = at;
      at = at->next;
    }
    if (!wait.notified && before == nullptr) fibers_.store(wait.next, std::memory_order_relaxed);
    if (!wait.notified && before != nullptr) before->next = wait.next;
  }
  mutex.mutex_.lock();
}

// With the list locked, so that the fiber is still there.
bool CondVar::ResumeFirst() {
  FiberWait* const first = fibers_.load(std::memory_order_relaxed);
  if (first == nullptr) return false;
  fibers_.store(first->next, std::memory_order_relaxed);
  first->notified = true;
  first->fiber->Resume();
  return true;
}

// Whoever waits has come into the list with the mutex held, which whoever notifies has held since:
// so the first look needs no lock.
void CondVar::NotifyOne() {
  if (fibers_.load(std::memory_order_relaxed) != nullptr) {
    const std::lock_guard<std::mutex> lock(fibers_mutex_);
    if (ResumeFirst()) return;
  }
  notified_.notify_one();
}

void CondVar::NotifyAll() {
  if (fibers_.load(std::memory_order_relaxed) != nullptr) {
    const std::lock_guard<std::mutex> lock(fibers_mutex_);
    while (ResumeFirst()) {
    }
  }
  notified_.notify_all();
}

}  // namespace sightline
