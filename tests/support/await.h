// Waiting for what another thread does when it opens no gate: by looking, not by time.
#ifndef SIGHTLINE_TESTS_SUPPORT_AWAIT_H_
#define SIGHTLINE_TESTS_SUPPORT_AWAIT_H_

#include <functional>
#include <thread>
#include <utility>

namespace sightline {

// Returns once `condition` holds.  The test's own time limit is the only one.
template <typename Condition>
void AwaitUntil(const Condition& condition) {
  while (!condition()) std::this_thread::yield();
}

// Runs `work` on a thread of its own; Get joins it and hands out what it returned.
template <typename T>
class Background {
 public:
  explicit Background(std::function<T()> work)
      : thread_([this, work = std::move(work)] { value_ = work(); }) {}
  ~Background() {
    if (thread_.joinable()) thread_.join();
  }
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  // Once.
  T Get() {
    thread_.join();
    return std::move(value_);
  }

 private:
  T value_;
  std::thread thread_;  // last: starts when the rest is there
};

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_SUPPORT_AWAIT_H_
