// Writing a generation of many items: memory that does not grow with them, and kills.  The
// short form of write_rate.
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <functional>
#include <new>
#include <random>

#include "common/base/clock.h"
#include "common/base/files.h"
#include "tests/services/corpus_encoder/generated_units.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

// The real one, that counts how often it is asked, and ends the process when that is often
// enough: a job asks at every step.
class MortalClock : public Clock {
 public:
  explicit MortalClock(int64_t questions) : left_(questions) {}
  absl::Time Now() override {
    if (--left_ == 0) ::raise(SIGKILL);
    return Clock::Real()->Now();
  }
  void WaitUntil(CondVar& cv, Mutex& mutex, absl::Time deadline) REQUIRES(mutex) override {
    Clock::Real()->WaitUntil(cv, mutex, deadline);
  }
  int64_t asked() const { return -left_; }

 private:
  std::atomic<int64_t> left_;
};

GeneratedUnits Units(const TempDir& dir, int64_t item_count, int shard_count) {
  GeneratedUnits units;
  units.store = dir.path();
  units.item_count = item_count;
  units.dimension = 16;
  units.unit_size = 64;
  units.shard_count = shard_count;
  REQUIRE(MakeDirectories(dir.File("work/images")).ok());
  REQUIRE(GenerateUnits(units, CallContext::Unbounded()).ok());
  return units;
}

// Runs `work` in a child; what it returns must be 0, or it must be killed.  True if it was.
bool KilledInChild(const std::function<int()>& work) {
  const pid_t pid = ::fork();
  if (pid == 0) ::_exit(work());
  int status = 0;
  REQUIRE(::waitpid(pid, &status, 0) == pid);
  if (WIFSIGNALED(status)) return true;
  REQUIRE(WEXITSTATUS(status) == 0);
  return false;
}

TEST_CASE("written in one go or killed ten times, it is the same generation") {
  const TempDir dir;
  GeneratedUnits units = Units(dir, 20000, 4);
  SECTION("of units") {}
  SECTION("carried over") {
    REQUIRE(WriteGeneratedUnits(units, CallContext::Unbounded()).ok());
    units.carried = true;
  }
  MortalClock counting(0);
  REQUIRE(WriteGeneratedUnits(units, CallContext(&counting, absl::InfiniteFuture())).ok());
  const std::string expected = *GeneratedManifests(units);
  RemoveGenerated(units);
  std::mt19937 random(20261122);
  int killed = 0;
  for (int i = 0; killed < 10 && i < 40; ++i) {
    const int64_t questions = 1 + static_cast<int64_t>(random() % counting.asked());
    killed += KilledInChild([&] {
      MortalClock clock(questions);
      const CallContext call(&clock, absl::InfiniteFuture());
      return WriteGeneratedUnits(units, call).ok() ? 0 : 1;
    });
  }
  REQUIRE(killed == 10);
  REQUIRE(WriteGeneratedUnits(units, CallContext::Unbounded()).ok());
  REQUIRE(*GeneratedManifests(units) == expected);
}

// The address sanitizer's own memory does not fit the limit.
#if !defined(__SANITIZE_ADDRESS__)
// Private memory of this process.
int64_t DataBytes() {
  long long pages[6] = {};
  std::FILE* const file = std::fopen("/proc/self/statm", "r");
  REQUIRE(std::fscanf(file, "%lld %lld %lld %lld %lld %lld", &pages[0], &pages[1], &pages[2],
                      &pages[3], &pages[4], &pages[5]) == 6);
  std::fclose(file);
  return pages[5] * ::sysconf(_SC_PAGESIZE);
}

TEST_CASE("a hundred thousand items are written with 40 MiB of memory, listing and all") {
  const TempDir dir;
  GeneratedUnits units = Units(dir, 100000, 4);
  SECTION("of units") {}
  SECTION("carried over") {
    REQUIRE(!KilledInChild(
        [&] { return WriteGeneratedUnits(units, CallContext::Unbounded()).ok() ? 0 : 1; }));
    units.carried = true;
  }
  REQUIRE(!KilledInChild([&] {
    struct rlimit limit;
    limit.rlim_cur = limit.rlim_max = DataBytes() + (int64_t{40} << 20);
    ::setrlimit(RLIMIT_DATA, &limit);
    try {
      return WriteGeneratedUnits(units, CallContext::Unbounded()).ok() ? 0 : 1;
    } catch (const std::bad_alloc&) {
      return 2;
    }
  }));
}
#endif

}  // namespace
}  // namespace sightline
