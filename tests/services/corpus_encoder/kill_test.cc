// The program, killed: kill -9 at seeded points, then run again, to the same bytes.
//
// A point is a call that changes a file (kill_at.cc): creating a folder, writing, syncing,
// renaming, removing.  SIGHTLINE_KILLS sets how many jobs of a kind are killed (default 3).
#include <signal.h>

#include <cstdlib>
#include <memory>
#include <random>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/base/files.h"
#include "common/bundle/generation.h"
#include "common/bundle/publication.h"
#include "loadtest/fleet/process.h"
#include "tests/common/image/encode.h"
#include "tests/common/models/tiny_model.h"
#include "tests/services/corpus_encoder/published_files.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

constexpr char kProgram[] = "services/corpus_encoder/corpus_encoder";
constexpr char kKiller[] = "tests/services/corpus_encoder/libkill_at.so";
constexpr int kKilled = 128 + SIGKILL;

int Kills() {
  const char* const text = std::getenv("SIGHTLINE_KILLS");
  int kills = 3;
  if (text != nullptr) REQUIRE(absl::SimpleAtoi(text, &kills));
  return kills;
}

// Pictures with captions, one in five without, and one that is no picture.
class Pictures {
 public:
  Pictures() {
    std::string captions;
    for (int i = 0; i < 150; ++i) {
      const std::string name = absl::StrCat("p", i, ".png");
      Pixels pixels = Gradient(24, 24);
      pixels.rgb[0] = static_cast<uint8_t>(i);
      REQUIRE(WriteFileAtomically(dir_.File(name), EncodePng(pixels)).ok());
      if (i % 5 == 0) continue;
      absl::StrAppend(&captions, "{\"path\": \"", name, "\", \"captions\": [\"a red fish\", \"",
                      std::string(1 + i % 9, 'b'), " bird\"]}\n");
    }
    REQUIRE(WriteFileAtomically(dir_.File("odd.png"), "no picture").ok());
    REQUIRE(WriteFileAtomically(dir_.File("captions.jsonl"), captions).ok());
  }
  const std::string& path() const { return dir_.path(); }

 private:
  const TempDir dir_;
};

// One store with a model, and runs of the program in it.
class Store {
 public:
  explicit Store(const Pictures& pictures)
      : pictures_(pictures), model_(MakeBundle(dir_.path(), TinyManifest()).id) {}

  // Starts it as a worker; it is killed at `point`, unless that is 0.
  std::unique_ptr<Process> Start(int64_t point, int worker = 0, int workers = 1) const {
    const std::string config = dir_.File(absl::StrCat("worker", worker, ".yaml"));
    // Everything in small pieces, so that there are many points between them.
    REQUIRE(WriteFileAtomically(config,
                                absl::StrCat("store: ", dir_.path(), "\nmodel: ", model_,
                                             "\ncorpora: [{kind: folder, root: ", pictures_.path(),
                                             "}]\nshards: 3\nunit_size: 8\ncompute: {threads: 1}\n",
                                             "worker: ", worker, "\nworkers: ", workers, "\n"))
                .ok());
    auto process = Process::Start(
        {"/usr/bin/env", absl::StrCat("LD_PRELOAD=", kKiller), absl::StrCat("KILL_AT=", point),
         absl::StrCat("KILL_AT_COUNT=", dir_.File("count")),
         // The address sanitizer wants to come first, and need not.
         "ASAN_OPTIONS=verify_asan_link_order=0", kProgram, "--config", config},
        dir_.File("log"));
    REQUIRE(process.ok());
    return *std::move(process);
  }

  // True if it was killed, false if it came to its end before.
  bool KillAt(int64_t point) const {
    const int status = *Start(point)->Wait();
    INFO(EndOfLog(dir_.File("log"), 30));
    REQUIRE((status == 0 || status == kKilled));
    return status == kKilled;
  }

  void Finish() const {
    const int status = *Start(0)->Wait();
    INFO(EndOfLog(dir_.File("log"), 30));
    REQUIRE(status == 0);
  }

  // Of the last run that came to its end: calls that change files.
  int64_t Calls() const {
    int64_t count = 0;
    REQUIRE(absl::SimpleAtoi(*ReadFile(dir_.File("count")), &count));
    return count;
  }

  // What is published is whole.
  void CheckPublished() const {
    for (const char* index : {"images", "captions"}) {
      const auto current = ReadCurrent(dir_.path(), index);
      if (!current.ok()) continue;
      REQUIRE(ReadGenerationManifest(dir_.path(), index, current->generation()).ok());
    }
  }

  std::string log() const { return EndOfLog(dir_.File("log"), 30); }
  std::map<std::string, std::string> published() const { return PublishedFiles(dir_.path()); }

 private:
  const Pictures& pictures_;
  const TempDir dir_;
  const std::string model_;
};

// A whole run, and what it publishes.
struct Whole {
  explicit Whole(const Pictures& pictures) {
    const Store store(pictures);
    store.Finish();
    calls = store.Calls();
    published = store.published();
    REQUIRE(calls > 200);
    REQUIRE(published.size() == 2 * (4 + 3 * 3) + 2);
  }
  int64_t calls = 0;
  std::map<std::string, std::string> published;
};

TEST_CASE(
    "a job that is killed anywhere, again and again, ends with the bytes of one that was not") {
  const Pictures pictures;
  const Whole whole(pictures);
  std::mt19937 random(20260131);
  for (int i = 0; i < Kills(); ++i) {
    const Store store(pictures);
    int killed = 0;
    // Each run has less to do, so that later points lie towards the end.
    for (int kill = 0; kill < 3; ++kill) {
      const int64_t point = 1 + static_cast<int64_t>(random() % (whole.calls / (kill + 1)));
      CAPTURE(i, kill, point);
      killed += store.KillAt(point) ? 1 : 0;
      store.CheckPublished();
    }
    REQUIRE(killed > 0);
    store.Finish();
    REQUIRE(store.published() == whole.published);
  }
}

TEST_CASE("a worker that is killed and started again finishes what the others wait for") {
  const Pictures pictures;
  const Whole whole(pictures);
  std::mt19937 random(20260201);
  int killed = 0;
  for (int i = 0; i < Kills(); ++i) {
    const Store store(pictures);
    const int victim = i % 2;
    const int64_t point = 1 + static_cast<int64_t>(random() % (whole.calls / 2));
    CAPTURE(i, victim, point);
    const auto other = store.Start(0, 1 - victim, 2);
    const int status = *store.Start(point, victim, 2)->Wait();
    INFO(store.log());
    REQUIRE((status == 0 || status == kKilled));
    killed += status == kKilled ? 1 : 0;
    const auto again = store.Start(0, victim, 2);
    REQUIRE(*again->Wait() == 0);
    REQUIRE(*other->Wait() == 0);
    REQUIRE(store.published() == whole.published);
  }
  REQUIRE(killed > 0);
}

}  // namespace
}  // namespace sightline
