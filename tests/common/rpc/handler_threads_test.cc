#include "common/rpc/handler_threads.h"

#include <atomic>
#include <memory>
#include <set>
#include <thread>

#include "tests/support/catch.h"
#include "tests/support/gate.h"

namespace sightline {
namespace {

TEST_CASE("What blocks keeps nothing else from running, up to the most there may be") {
  constexpr int kMost = 4;
  Gate all, release, later;
  std::atomic<int> running{0};
  HandlerThreads threads(kMost);
  for (int i = 0; i < kMost; ++i) {
    REQUIRE(threads.Run([&] {
      if (++running == kMost) all.Open();
      release.Wait();
    }));
  }
  all.Wait();
  CHECK_FALSE(threads.Run([&] { ++running; }));
  release.Open();
  while (!threads.Run([&] { later.Open(); })) std::this_thread::yield();
  later.Wait();
  CHECK(running == kMost);
}

TEST_CASE("Who ends the threads waits for all that was to be run") {
  constexpr int kTasks = 10;
  std::atomic<int> ran{0};
  Gate release;
  auto threads = std::make_unique<HandlerThreads>(kTasks);
  for (int i = 0; i < kTasks; ++i) {
    REQUIRE(threads->Run([&] {
      release.Wait();
      ++ran;
    }));
  }
  std::thread opener([&] { release.Open(); });
  threads.reset();
  opener.join();
  CHECK(ran == kTasks);
}

TEST_CASE("One task after the other takes threads that are there") {
  HandlerThreads threads(100);
  std::set<std::thread::id> seen;
  for (int i = 0; i < 200; ++i) {
    Gate done;
    REQUIRE(threads.Run([&] {
      seen.insert(std::this_thread::get_id());
      done.Open();
    }));
    done.Wait();
  }
  // The next may come before the one of the last has lain down.
  CHECK(seen.size() < 50);
}

}  // namespace
}  // namespace sightline
