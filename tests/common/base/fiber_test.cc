#include "common/base/fiber.h"

#include <atomic>
#include <chrono>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "common/base/clock.h"
#include "tests/support/catch.h"
#include "tests/support/fake_clock.h"
#include "tests/support/fiber_loop.h"

namespace sightline {
namespace {

// A flag that is waited for.
struct Flag {
  void Set() {
    MutexLock lock(mutex);
    set = true;
    changed.NotifyAll();
  }
  void Await() {
    MutexLock lock(mutex);
    while (!set) changed.Wait(mutex);
  }
  Mutex mutex;
  CondVar changed;
  bool set GUARDED_BY(mutex) = false;
};

TEST_CASE("A fiber runs in its thread until it waits, and goes on there") {
  FiberLoop loop;
  Flag flag;
  std::vector<std::string> said;
  CHECK(Fiber::Current() == nullptr);
  loop.Start([&] {
    CHECK(Fiber::Current() != nullptr);
    said.push_back("first");
    flag.Await();
    said.push_back("third");
  });
  CHECK(Fiber::Current() == nullptr);
  CHECK(loop.fibers().alive() == 1);
  loop.Start([&] {
    said.push_back("second");
    flag.Set();
  });
  loop.fibers().RunReady();
  CHECK(said == std::vector<std::string>{"first", "second", "third"});
  CHECK(loop.fibers().alive() == 0);
  CHECK(loop.wakes() == 0);  // all of it was this thread
}

TEST_CASE("A fiber that another thread notifies has its own thread woken") {
  FiberLoop loop;
  Flag flag;
  std::thread::id went_on;
  loop.Start([&] {
    flag.Await();
    went_on = std::this_thread::get_id();
  });
  std::thread other([&] { flag.Set(); });
  loop.RunAll();
  other.join();
  CHECK(went_on == std::this_thread::get_id());
  CHECK(loop.wakes() == 1);
}

TEST_CASE("A wait of a fiber ends with its time") {
  FiberLoop loop;
  Mutex mutex;
  CondVar never;
  const absl::Time until = Clock::Real()->Now() + absl::Milliseconds(2);
  CHECK(loop.fibers().next_due() == Fiber::TimePoint::max());
  bool ended = false;
  loop.Start([&] {
    MutexLock lock(mutex);
    while (Clock::Real()->Now() < until) Clock::Real()->WaitUntil(never, mutex, until);
    ended = true;
  });
  CHECK(loop.fibers().next_due() != Fiber::TimePoint::max());
  CHECK_FALSE(ended);
  loop.RunAll();
  CHECK(ended);
  CHECK(loop.fibers().next_due() == Fiber::TimePoint::max());
  never.NotifyAll();  // of nobody
}

TEST_CASE("A fiber waits by any clock") {
  FiberLoop loop;
  FakeClock clock;
  bool ended = false;
  loop.Start([&] {
    clock.SleepUntil(clock.Now() + absl::Hours(1));
    ended = true;
  });
  clock.Advance(absl::Minutes(59));
  loop.fibers().RunReady();
  CHECK_FALSE(ended);
  clock.Advance(absl::Minutes(1));
  loop.RunAll();
  CHECK(ended);
}

TEST_CASE("One notification is for the fiber that has waited longest, and for no thread") {
  FiberLoop loop;
  Mutex mutex;
  CondVar changed;
  int tickets = 0;
  std::vector<int> served;
  for (int number = 0; number < 3; ++number) {
    loop.Start([&, number] {
      MutexLock lock(mutex);
      while (tickets == 0) changed.Wait(mutex);
      --tickets;
      served.push_back(number);
    });
  }
  for (int i = 0; i < 3; ++i) {
    {
      MutexLock lock(mutex);
      ++tickets;
    }
    changed.NotifyOne();
    loop.fibers().RunReady();
    CHECK(static_cast<int>(served.size()) == i + 1);
  }
  CHECK(served == std::vector<int>{0, 1, 2});
}

TEST_CASE("Fibers and threads that wait together are all notified") {
  FiberLoop loop;
  Flag flag;
  std::atomic<int> ended{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      flag.Await();
      ++ended;
    });
    loop.Start([&] {
      flag.Await();
      ++ended;
    });
  }
  flag.Set();
  loop.RunAll();
  for (std::thread& thread : threads) thread.join();
  CHECK(ended == 6);
}

// What is notified and due at once is ready once; whoever has ended by then is not run again.
TEST_CASE("A fiber that is due and notified at the same time goes on once") {
  FiberLoop loop;
  Mutex mutex;
  CondVar changed;
  int went_on = 0;
  for (int round = 0; round < 100; ++round) {
    loop.Start([&] {
      MutexLock lock(mutex);
      changed.WaitFor(mutex, std::chrono::nanoseconds(1));
      ++went_on;
    });
    changed.NotifyAll();
    loop.fibers().RunReady();
    loop.RunAll();
  }
  CHECK(went_on == 100);
}

TEST_CASE("A fiber throws and catches, and its stack is deep enough for half of what it has") {
  FiberLoop loop;
  Flag flag;
  std::string caught;
  int depth = 0;
  const std::function<void(size_t)> descend = [&](size_t bytes) {
    volatile char frame[4096] = {};
    frame[0] = static_cast<char>(depth++);
    if (bytes > sizeof(frame)) return descend(bytes - sizeof(frame));
    flag.Await();
    throw std::runtime_error("from below");
  };
  loop.Start([&] {
    try {
      descend(FiberScheduler::kStackBytes / 4);
    } catch (const std::runtime_error& error) {
      caught = error.what();
    }
  });
  loop.Start([&] { flag.Set(); });
  loop.fibers().RunReady();
  CHECK(caught == "from below");
  CHECK(depth > 20);
}

TEST_CASE("Stacks are used again") {
  FiberLoop loop;
  std::vector<const void*> places;
  for (int i = 0; i < 3; ++i) {
    loop.Start([&] {
      int here = 0;
      places.push_back(&here);
    });
  }
  CHECK(places[0] == places[1]);
  CHECK(places[1] == places[2]);
}

TEST_CASE("Threads that notify and fibers that wait with a time lose nothing") {
  FiberLoop loop;
  Mutex mutex;
  CondVar changed;
  int made = 0;
  int taken = 0;
  constexpr int kThreads = 3;
  constexpr int kEach = 400;
  constexpr int kFibers = 20;
  for (int i = 0; i < kFibers; ++i) {
    loop.Start([&] {
      MutexLock lock(mutex);
      while (taken < kThreads * kEach) {
        if (made > 0) {
          --made;
          if (++taken == kThreads * kEach) changed.NotifyAll();
          continue;
        }
        changed.WaitFor(mutex, std::chrono::microseconds(50));
      }
    });
  }
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (int j = 0; j < kEach; ++j) {
        {
          MutexLock lock(mutex);
          ++made;
        }
        changed.NotifyOne();
      }
    });
  }
  loop.RunAll();
  for (std::thread& thread : threads) thread.join();
  CHECK(taken == kThreads * kEach);
  CHECK(made == 0);
}

}  // namespace
}  // namespace sightline
