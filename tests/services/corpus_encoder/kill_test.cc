// The job, killed: kill -9 at seeded points, then run again, to the same bytes.
//
// A child process runs the job and writes a byte into a pipe at each event: a picture is
// read, progress is made.  The test counts them and kills it at one; where exactly it is
// then, between that event and the next, is left to chance.  SIGHTLINE_KILLS sets how many
// points (default 5).
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <random>

#include "absl/strings/numbers.h"
#include "common/bundle/generation.h"
#include "common/bundle/publication.h"
#include "tests/services/corpus_encoder/test_decoders.h"
#include "tests/services/corpus_encoder/test_job.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

FakeCorpus Corpus() {
  FakeCorpus corpus;
  corpus.AddMany(300);
  return corpus;
}

class Child {
 public:
  Child(const std::string& store, const WorkShare& share) {
    int ends[2];
    if (::pipe(ends) != 0) throw std::runtime_error("no pipe");
    pid_ = ::fork();
    if (pid_ == 0) {
      ::close(ends[0]);
      RunJob(store, share, ends[1]);
    }
    ::close(ends[1]);
    events_ = ends[0];
  }
  ~Child() {
    ::kill(pid_, SIGKILL);
    Wait();
    ::close(events_);
  }

  // False if it ended before that.
  bool AwaitEvents(int64_t count) {
    char byte = 0;
    for (; count > 0; --count) {
      if (::read(events_, &byte, 1) != 1) return false;
    }
    return true;
  }

  void Kill() { ::kill(pid_, SIGKILL); }

  // Its exit status; -1 if it was killed.
  int Wait() {
    int status = 0;
    if (waited_) return -1;
    waited_ = true;
    ::waitpid(pid_, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  [[noreturn]] static void RunJob(const std::string& store, const WorkShare& share, int events) {
    TestDecoders decoders;
    const auto event = [events] {
      if (::write(events, "e", 1) != 1) ::_exit(9);
    };
    FakeCorpus corpus = Corpus();
    corpus.before_read = [&](const CorpusItem&) { event(); };
    Progress::Options progress;
    progress.terminal = true;
    progress.draw_period = absl::ZeroDuration();
    progress.write = [&](absl::string_view) { event(); };
    CorpusEncoderOptions options = TestJobOptions(store);
    options.share = share;
    const auto summary =
        RunTestJob(options, corpus, decoders.pool(), {}, CallContext::Unbounded(), progress);
    ::_exit(summary.ok() ? 0 : 1);
  }

  pid_t pid_ = 0;
  int events_ = -1;
  bool waited_ = false;
};

int Kills() {
  const char* const text = std::getenv("SIGHTLINE_KILLS");
  int kills = 5;
  if (text != nullptr) REQUIRE(absl::SimpleAtoi(text, &kills));
  return kills;
}

// Events of a whole run, and what it publishes.
struct Whole {
  Whole() {
    TempDir store;
    Child child(store.path(), WorkShare());
    while (child.AwaitEvents(1)) ++events;
    REQUIRE(child.Wait() == 0);
    published = PublishedFiles(store.path());
    REQUIRE(published.size() == 2 * (4 + 2 * 3) + 2);
  }
  int64_t events = 0;
  std::map<std::string, std::string> published;
};

// Half of the points lie at the end, where the generation is written.
int64_t PointOf(const Whole& whole, std::mt19937& random) {
  constexpr int64_t kEnd = 12;
  const int64_t from = random() % 2 == 0 ? 1 : whole.events - kEnd;
  return from + static_cast<int64_t>(random() % (whole.events - from + 1));
}

TEST_CASE("a job that is killed anywhere, twice, ends with the bytes of one that was not") {
  const Whole whole;
  std::mt19937 random(20260131);
  for (int i = 0; i < Kills(); ++i) {
    TempDir store;
    for (int kill = 0; kill < 2; ++kill) {
      const int64_t point = PointOf(whole, random);
      CAPTURE(i, kill, point);
      Child child(store.path(), WorkShare());
      child.AwaitEvents(point);
      child.Kill();
      REQUIRE(child.Wait() <= 0);
      // Nothing is published that is not whole.
      for (const char* index : {"images", "captions"}) {
        const auto current = ReadCurrent(store.path(), index);
        if (!current.ok()) continue;
        REQUIRE(ReadGenerationManifest(store.path(), index, current->generation()).ok());
      }
    }
    Child child(store.path(), WorkShare());
    while (child.AwaitEvents(1)) {
    }
    REQUIRE(child.Wait() == 0);
    REQUIRE(PublishedFiles(store.path()) == whole.published);
  }
}

TEST_CASE("a worker that is killed and started again finishes what the others wait for") {
  const Whole whole;
  std::mt19937 random(20260201);
  for (int i = 0; i < Kills(); ++i) {
    TempDir store;
    const int victim = i % 2;
    const int64_t point = 1 + static_cast<int64_t>(random() % (whole.events / 2));
    CAPTURE(i, victim, point);
    Child other(store.path(), {1 - victim, 2});
    {
      Child killed(store.path(), {victim, 2});
      killed.AwaitEvents(point);
      killed.Kill();
      REQUIRE(killed.Wait() <= 0);
    }
    Child again(store.path(), {victim, 2});
    for (Child* child : {&again, &other}) {
      while (child->AwaitEvents(1)) {
      }
      REQUIRE(child->Wait() == 0);
    }
    REQUIRE(PublishedFiles(store.path()) == whole.published);
  }
}

}  // namespace
}  // namespace sightline
