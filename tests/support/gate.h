// A door that threads wait at until it is opened; it stays open.
//
//   Gate entered, release;
//   auto work = [&] { entered.Open(); release.Wait(); };
//
// Made of std::mutex, unlike absl::Notification, so that the thread sanitizer sees the
// order it creates.
#ifndef SIGHTLINE_TESTS_SUPPORT_GATE_H_
#define SIGHTLINE_TESTS_SUPPORT_GATE_H_

#include <condition_variable>
#include <mutex>

namespace sightline {

// Thread-safe.
class Gate {
 public:
  void Open() {
    std::lock_guard<std::mutex> lock(mutex_);
    open_ = true;
    // Under the lock: a waiter may destroy the gate as soon as it has seen it open.
    changed_.notify_all();
  }

  void Wait() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return open_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
};

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_SUPPORT_GATE_H_
