// Whether a mutex that should be held is.
#ifndef SIGHTLINE_TESTS_SUPPORT_IS_HELD_H_
#define SIGHTLINE_TESTS_SUPPORT_IS_HELD_H_

#include <atomic>
#include <thread>

#include "common/base/mutex.h"

namespace sightline {

// Tries it with a thread that wants `mutex`: lets go of it for that thread, and takes it again.
// May see a mutex held that is not, if the thread is slow; never the other way round.
inline bool IsHeld(Mutex& mutex) REQUIRES(mutex) {
  std::atomic<bool> began{false}, taken{false};
  std::thread rival([&] {
    began = true;
    MutexLock lock(mutex);
    taken = true;
  });
  while (!began) std::this_thread::yield();
  for (int i = 0; i < 1000; ++i) std::this_thread::yield();
  const bool held = !taken;
  mutex.Unlock();
  rival.join();
  mutex.Lock();
  return held;
}

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_SUPPORT_IS_HELD_H_
