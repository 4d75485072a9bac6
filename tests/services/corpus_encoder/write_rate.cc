// How fast a generation is written from units, in how much memory, and whether it comes out
// the same when it is killed; and how fast another is that carries all of it over.
//
//   bazel run -c opt //tests/services/corpus_encoder:write_rate -- FOLDER ITEMS [KILLS]
//
// ITEMS of 64 dimensions, half of them pictures and half captions, into 20 shards of each
// index.  FOLDER is made, takes about 1.7 kB an item, and is removed.
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <thread>

#include "common/base/files.h"
#include "tests/services/corpus_encoder/generated_units.h"

namespace sightline {
namespace {

// Private memory of a process in bytes; 0 when it is gone.
int64_t AnonymousBytes(pid_t pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  std::string word;
  while (status >> word) {
    int64_t kilobytes = 0;
    if (word == "RssAnon:" && status >> kilobytes) return kilobytes * 1024;
  }
  return 0;
}

struct Run {
  bool killed = false;
  int64_t peak_bytes = 0;
  double seconds = 0;
  double cpu_seconds = 0;
};

double Seconds(const struct timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

// A child that writes; it is killed after `patience` if that is not 0.
Run WriteInChild(const GeneratedUnits& units, double patience) {
  const auto start = std::chrono::steady_clock::now();
  const pid_t pid = ::fork();
  if (pid == 0) {
    const auto times = WriteGeneratedUnits(units, CallContext::Unbounded());
    if (!times.ok()) std::fprintf(stderr, "%s\n", times.status().ToString().c_str());
    if (times.ok() && patience == 0) {
      std::printf("  plan %.1f s, rows %.1f s, shards %.1f s, finish %.1f s\n",
                  absl::ToDoubleSeconds(times->plan), absl::ToDoubleSeconds(times->rows),
                  absl::ToDoubleSeconds(times->shards), absl::ToDoubleSeconds(times->finish));
      std::fflush(stdout);
    }
    ::_exit(times.ok() ? 0 : 1);
  }
  Run run;
  int status = 0;
  struct rusage usage = {};
  while (::wait4(pid, &status, WNOHANG, &usage) == 0) {
    run.peak_bytes = std::max(run.peak_bytes, AnonymousBytes(pid));
    run.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (patience > 0 && run.seconds > patience) ::kill(pid, SIGKILL);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  run.killed = WIFSIGNALED(status);
  run.cpu_seconds = Seconds(usage.ru_utime) + Seconds(usage.ru_stime);
  if (!run.killed && WEXITSTATUS(status) != 0) std::exit(1);
  return run;
}

void Print(const char* what, int64_t item_count, const Run& run) {
  const auto each = [&](double seconds) { return 1e6 * seconds / static_cast<double>(item_count); };
  std::printf("%lld items %s: %.1f s, %.2f us an item (%.2f us of CPU), RssAnon at most %.1f MB\n",
              static_cast<long long>(item_count), what, run.seconds, each(run.seconds),
              each(run.cpu_seconds), static_cast<double>(run.peak_bytes) / 1e6);
  std::fflush(stdout);
}

int Main(const std::string& folder, int64_t item_count, int kills) {
  GeneratedUnits units;
  units.store = folder;
  units.item_count = item_count;
  const absl::Status made = MakeDirectories(JoinPath(folder, "work/images"));
  const absl::Status generated = made.ok() ? GenerateUnits(units, CallContext::Unbounded()) : made;
  if (!generated.ok()) return std::fprintf(stderr, "%s\n", generated.ToString().c_str()), 1;

  const Run whole = WriteInChild(units, 0);
  Print("of units", item_count, whole);
  if (kills > 0) {
    const auto expected = GeneratedManifests(units);
    RemoveGenerated(units);
    std::mt19937 random(20261122);
    int killed = 0;
    for (int i = 0; i < kills; ++i) {
      // Each run begins where the last was killed, but for the plan and what is verified.
      const double share = std::uniform_real_distribution<double>(0.05, 0.6)(random);
      killed += WriteInChild(units, share * whole.seconds).killed ? 1 : 0;
    }
    WriteInChild(units, -1);
    const auto found = GeneratedManifests(units);
    const bool same = expected.ok() && found.ok() && *expected == *found;
    std::printf("killed %d times: %s bytes\n", killed, same ? "the same" : "OTHER");
    if (!same) return 1;
  }
  units.carried = true;
  Print("carried over", item_count, WriteInChild(units, 0));
  std::filesystem::remove_all(folder);
  return 0;
}

}  // namespace
}  // namespace sightline

int main(int argc, char** argv) {
  if (argc < 3) return std::fprintf(stderr, "usage: write_rate FOLDER ITEMS [KILLS]\n"), 2;
  return sightline::Main(argv[1], std::atoll(argv[2]), argc > 3 ? std::atoi(argv[3]) : 0);
}
