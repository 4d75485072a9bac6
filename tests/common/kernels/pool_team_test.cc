#include "common/kernels/pool_team.h"

#include <atomic>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include "tests/support/catch.h"

namespace sightline::kernels {
namespace {

TEST_CASE("every piece of every step is taken once, and a step ends before the next begins") {
  for (const int threads : {1, 2, 4}) {
    ComputePool pool(threads);
    std::vector<int> taken(100, 0);
    int wrong = 0;
    RunWithTeam(&pool, [&](Team* team) {
      REQUIRE(team->size() == threads);
      for (int step = 0; step < 2000; ++step) {
        const int64_t count = 1 + step % 100;
        team->ForEach(count, [&](int64_t piece, int member) {
          ++taken[piece];
          if (member < 0 || member >= threads) taken[piece] += 1000;
        });
        for (int64_t piece = 0; piece < 100; ++piece) {
          if (taken[piece] != (piece < count ? 1 : 0)) ++wrong;
          taken[piece] = 0;
        }
      }
    });
    REQUIRE(wrong == 0);
  }
}

TEST_CASE("passes run at once on one pool, each with its own results") {
  ComputePool pool(3);
  constexpr int kCallers = 4;
  std::vector<int64_t> sums(kCallers, 0);
  std::vector<std::thread> callers;
  for (int caller = 0; caller < kCallers; ++caller) {
    callers.emplace_back([&, caller] {
      for (int pass = 0; pass < 50; ++pass) {
        RunWithTeam(&pool, [&](Team* team) {
          std::vector<int64_t> parts(16);
          for (int step = 0; step < 20; ++step) {
            team->ForEach(16, [&](int64_t piece, int) { parts[piece] += piece; });
          }
          for (const int64_t part : parts) sums[caller] += part;
        });
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  for (const int64_t sum : sums) REQUIRE(sum == 50 * 20 * 120);
}

TEST_CASE("the pass runs in the calling thread, and what it throws comes out") {
  ComputePool pool(2);
  std::thread::id leader;
  RunWithTeam(&pool, [&](Team*) { leader = std::this_thread::get_id(); });
  REQUIRE(leader == std::this_thread::get_id());
  REQUIRE_THROWS_AS(RunWithTeam(&pool, [](Team*) { throw std::runtime_error("full"); }),
                    std::runtime_error);
  // And the pool is whole.
  int ran = 0;
  RunWithTeam(&pool, [&](Team*) { ++ran; });
  REQUIRE(ran == 1);
}

TEST_CASE("without a pool the calling thread works alone") {
  int64_t sum = 0;
  RunWithTeam(nullptr, [&](Team* team) {
    REQUIRE(team->size() == 1);
    team->ForEach(5, [&](int64_t piece, int) { sum += piece; });
  });
  REQUIRE(sum == 10);
}

}  // namespace
}  // namespace sightline::kernels
