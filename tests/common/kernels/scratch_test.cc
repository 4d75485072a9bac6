#include "common/kernels/scratch.h"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <thread>
#include <vector>

#include "tests/support/catch.h"

namespace sightline::kernels {
namespace {

constexpr int64_t kMebibyte = 1 << 20;

// Of whatever tests before have left.
void Empty() {
  { Scratch all_that_may_wait(kMostIdleScratch); }
  { Scratch more_than_that(kMostIdleScratch + 1); }
  REQUIRE(IdleScratch() == 0);
}

TEST_CASE("memory serves the next who wants no more") {
  Empty();
  std::byte* first = nullptr;
  {
    Scratch scratch(3 * kMebibyte);
    first = scratch.data();
    REQUIRE(reinterpret_cast<uintptr_t>(first) % 64 == 0);
    REQUIRE(IdleScratch() == 0);
  }
  REQUIRE(IdleScratch() >= 3 * kMebibyte);
  Scratch again(2 * kMebibyte);
  REQUIRE(again.data() == first);
  REQUIRE(IdleScratch() == 0);
}

TEST_CASE("what is too small is given back for what is large enough") {
  Empty();
  { Scratch small(kMebibyte); }
  { Scratch large(5 * kMebibyte); }
  REQUIRE(IdleScratch() >= 5 * kMebibyte);
  REQUIRE(IdleScratch() < 6 * kMebibyte);
}

TEST_CASE("no more than the bound waits, and what came last") {
  Empty();
  {
    std::deque<Scratch> many;
    for (int i = 0; i < 100; ++i) many.emplace_back(2 * kMebibyte);
  }
  REQUIRE(IdleScratch() <= kMostIdleScratch);
  REQUIRE(IdleScratch() > kMostIdleScratch / 2);
}

TEST_CASE("what is larger than all that may wait is given back, and nothing for it") {
  Empty();
  Scratch beyond(kMostIdleScratch + kMebibyte);
  { Scratch small(kMebibyte); }
  const int64_t idle = IdleScratch();
  REQUIRE(idle >= kMebibyte);
  { Scratch another(kMostIdleScratch + kMebibyte), small(kMebibyte); }
  REQUIRE(IdleScratch() == idle);
}

TEST_CASE("nobody has another's memory") {
  std::vector<std::thread> threads;
  std::vector<int> spoiled(4, 0);
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t, &spoiled] {
      for (int round = 0; round < 40; ++round) {
        const int64_t bytes = (1 + (t + round) % 3) * kMebibyte / 4;
        Scratch scratch(bytes);
        const auto mark = static_cast<std::byte>(t + 1);
        for (int64_t i = 0; i < bytes; i += 4096) scratch.data()[i] = mark;
        std::this_thread::yield();
        for (int64_t i = 0; i < bytes; i += 4096) spoiled[t] += scratch.data()[i] != mark;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  REQUIRE(std::all_of(spoiled.begin(), spoiled.end(), [](int n) { return n == 0; }));
}

TEST_CASE("a cutter counts what it then shares out, apart and from cache lines on") {
  alignas(64) std::byte memory[4096];
  Cutter counter(nullptr), cutter(memory);
  REQUIRE(counter.Take<float>(17) == nullptr);
  REQUIRE(counter.Take<int64_t>(0) == nullptr);
  REQUIRE(counter.Take<char>(1) == nullptr);
  const auto* const floats = reinterpret_cast<std::byte*>(cutter.Take<float>(17));
  const auto* const none = reinterpret_cast<std::byte*>(cutter.Take<int64_t>(0));
  const auto* const one = reinterpret_cast<std::byte*>(cutter.Take<char>(1));
  REQUIRE(floats == memory);
  REQUIRE(none >= floats + 17 * sizeof(float));
  REQUIRE(one >= none);
  REQUIRE((one - memory) % 64 == 0);
  REQUIRE(memory + cutter.taken() > one);
  REQUIRE(counter.taken() == cutter.taken());
}

}  // namespace
}  // namespace sightline::kernels
