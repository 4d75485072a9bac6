#include "common/base/mutex.h"

#include <chrono>
#include <thread>
#include <vector>

#include "absl/types/optional.h"
#include "tests/support/catch.h"
#include "tests/support/gate.h"
#include "tests/support/is_held.h"

namespace sightline {
namespace {

// Threads that wait for each other.
struct Meeting {
  Mutex mutex;
  CondVar changed;
  int there GUARDED_BY(mutex) = 0;
  int gone GUARDED_BY(mutex) = 0;
};

TEST_CASE("a lock holds its mutex until its scope ends") {
  Mutex mutex;
  {
    MutexLock lock(mutex);
    CHECK(IsHeld(mutex));
  }
  MutexLock again(mutex);
  CHECK(IsHeld(mutex));
}

TEST_CASE("what threads write under one mutex is all there") {
  struct {
    Mutex mutex;
    int64_t sum GUARDED_BY(mutex) = 0;
  } total;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 10'000; ++i) {
        MutexLock lock(total.mutex);
        ++total.sum;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  MutexLock lock(total.mutex);
  CHECK(total.sum == 40'000);
}

TEST_CASE("a lock can let go of its mutex and take it again") {
  Mutex mutex;
  ReleasableMutexLock lock(mutex);
  lock.Unlock();
  std::thread([&] { MutexLock other(mutex); }).join();
  lock.Lock();
  CHECK(IsHeld(mutex));
}

// Two locks of one mutex, of which the analysis knows only those that end in their order.
void EndOneThatHasLetGo(Mutex& mutex) NO_THREAD_SAFETY_ANALYSIS {
  absl::optional<ReleasableMutexLock> gone;
  gone.emplace(mutex);
  gone->Unlock();
  MutexLock holder(mutex);
  gone.reset();
  CHECK(IsHeld(mutex));
}

TEST_CASE("a lock that has let go of its mutex leaves it to others when it ends") {
  Mutex mutex;
  EndOneThatHasLetGo(mutex);
  MutexLock lock(mutex);
  CHECK(IsHeld(mutex));
}

TEST_CASE("waiting lets go of the mutex, and holds it again afterwards") {
  Meeting meeting;
  Gate checked;
  std::thread waiter([&] {
    MutexLock lock(meeting.mutex);
    ++meeting.there;
    meeting.changed.NotifyAll();
    while (meeting.there < 2) meeting.changed.Wait(meeting.mutex);
    CHECK(IsHeld(meeting.mutex));
    checked.Open();
  });
  {
    MutexLock lock(meeting.mutex);
    while (meeting.there == 0) meeting.changed.Wait(meeting.mutex);
    ++meeting.there;
    meeting.changed.NotifyOne();
  }
  checked.Wait();
  waiter.join();
}

TEST_CASE("all that wait are woken") {
  Meeting meeting;
  std::vector<std::thread> waiters;
  for (int i = 0; i < 3; ++i) {
    waiters.emplace_back([&] {
      MutexLock lock(meeting.mutex);
      ++meeting.there;
      meeting.changed.NotifyAll();
      while (meeting.there < 4) meeting.changed.Wait(meeting.mutex);
      ++meeting.gone;
    });
  }
  {
    MutexLock lock(meeting.mutex);
    while (meeting.there < 3) meeting.changed.Wait(meeting.mutex);
    ++meeting.there;
    meeting.changed.NotifyAll();
  }
  for (std::thread& waiter : waiters) waiter.join();
  MutexLock lock(meeting.mutex);
  CHECK(meeting.gone == 3);
}

TEST_CASE("a wait that nobody ends is over after its time, with the mutex held") {
  Mutex mutex;
  CondVar never;
  MutexLock lock(mutex);
  const auto begin = std::chrono::steady_clock::now();
  const auto end = begin + std::chrono::milliseconds(2);
  while (std::chrono::steady_clock::now() < end) never.WaitFor(mutex, end - begin);
  CHECK(IsHeld(mutex));
}

}  // namespace
}  // namespace sightline
