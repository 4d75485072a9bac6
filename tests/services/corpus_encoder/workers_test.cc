// Several workers on one store, as threads.
#include <fcntl.h>
#include <sys/file.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "common/base/descriptor.h"
#include "common/bundle/generation.h"
#include "services/corpus_encoder/base_choice.h"
#include "services/corpus_encoder/work_folder.h"
#include "services/corpus_encoder/work_lock.h"
#include "tests/services/corpus_encoder/test_decoders.h"
#include "tests/services/corpus_encoder/test_job.h"
#include "tests/support/catch.h"
#include "tests/support/fake_clock.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

constexpr int kPictures = 600;  // three stretches of a scan

FakeCorpus Corpus() {
  FakeCorpus corpus;
  corpus.AddMany(kPictures);
  corpus.Add("odd", "this is no picture", {"a caption of nothing"});
  corpus.Add("odder", "12", {});
  corpus.read_errors["odder"] = absl::PermissionDeniedError("not yours");
  return corpus;
}

CorpusEncoderOptions Options(const std::string& store, int worker, int workers) {
  CorpusEncoderOptions options = TestJobOptions(store);
  options.unit_size = 16;
  options.share = {worker, workers};
  return options;
}

std::vector<absl::StatusOr<EncodeSummary>> RunAll(const std::string& store,
                                                  const FakeCorpus& corpus, int workers) {
  std::vector<std::unique_ptr<TestDecoders>> decoders;
  for (int i = 0; i < workers; ++i) decoders.push_back(std::make_unique<TestDecoders>());
  std::vector<absl::StatusOr<EncodeSummary>> summaries(workers, absl::UnknownError("not run"));
  std::vector<std::thread> threads;
  for (int i = 0; i < workers; ++i) {
    threads.emplace_back([&, i] {
      summaries[i] = RunTestJob(Options(store, i, workers), corpus, decoders[i]->pool());
    });
  }
  for (std::thread& thread : threads) thread.join();
  return summaries;
}

TEST_CASE("two and three workers give the bytes that one gives, and share the work") {
  TempDir alone;
  TestDecoders decoders;
  REQUIRE(RunTestJob(Options(alone.path(), 0, 1), Corpus(), decoders.pool()).ok());
  const auto expected = PublishedFiles(alone.path());
  for (const int workers : {2, 3}) {
    TempDir store;
    const auto summaries = RunAll(store.path(), Corpus(), workers);
    int64_t encoded = 0, read = 0;
    for (const auto& summary : summaries) {
      REQUIRE(summary.ok());
      encoded += summary->encoded_image_count;
      REQUIRE(summary->encoded_image_count < kPictures);
      read += summary->read.item_count - summary->decode.item_count;
      REQUIRE(summary->published == (summary->worker == 0));
    }
    REQUIRE(encoded == kPictures + 1);
    REQUIRE(read == kPictures + 2);  // each picture was scanned once, by one worker
    REQUIRE(PublishedFiles(store.path()) == expected);
    REQUIRE_THAT(summaries[1]->Report(), Catch::Contains("worker 0 writes"));
  }
}

TEST_CASE("workers carry over from one base, and the second corpus is that of one worker") {
  TempDir alone, store;
  TestDecoders decoders;
  FakeCorpus second = Corpus();
  for (int i = 0; i < 40; ++i) {
    Pixels pixels = Gradient(9, 9);
    pixels.rgb[2] = static_cast<uint8_t>(i);
    second.Add(absl::StrCat("new/", i), EncodePng(pixels), {"something new"});
  }
  for (const FakeCorpus& corpus : {Corpus(), second}) {
    REQUIRE(RunTestJob(Options(alone.path(), 0, 1), corpus, decoders.pool()).ok());
    const auto summaries = RunAll(store.path(), corpus, 2);
    for (const auto& summary : summaries) REQUIRE(summary.ok());
  }
  REQUIRE(PublishedFiles(store.path()) == PublishedFiles(alone.path()));
}

TEST_CASE("a worker that comes late, or again, finds its work done") {
  TempDir store;
  REQUIRE(RunAll(store.path(), Corpus(), 2)[0].ok());
  const auto before = PublishedFiles(store.path());
  TestDecoders decoders;
  for (const int worker : {1, 0}) {
    const auto summary = RunTestJob(Options(store.path(), worker, 2), Corpus(), decoders.pool());
    REQUIRE(summary.ok());
    REQUIRE(summary->already_there);
  }
  REQUIRE(PublishedFiles(store.path()) == before);
}

TEST_CASE("a scan that has proved wrong is made anew by the next run") {
  TempDir store, alone;
  FakeCorpus corpus = Corpus();
  corpus.version = "always the same";
  REQUIRE(RunAll(store.path(), corpus, 2)[0].ok());
  std::filesystem::remove_all(store.path() + "/indexes");
  const std::vector<std::string> names = *ListDirectory(store.File("work/images"));
  for (const std::string& name : names) {
    if (absl::EndsWith(name, ".unit")) std::filesystem::remove(store.File("work/images/" + name));
  }
  corpus.pictures["p/7"] = EncodePng(Gradient(31, 31));
  TestDecoders decoders;
  int aborted = 0;
  for (const int worker : {1, 0}) {
    CorpusEncoderOptions options = Options(store.path(), worker, 2);
    options.await.stall_timeout = absl::ZeroDuration();
    if (absl::IsAborted(RunTestJob(options, corpus, decoders.pool()).status())) ++aborted;
  }
  REQUIRE(aborted == 1);
  for (const auto& summary : RunAll(store.path(), corpus, 2)) REQUIRE(summary.ok());
  REQUIRE(RunTestJob(Options(alone.path(), 0, 1), corpus, decoders.pool()).ok());
  REQUIRE(PublishedFiles(store.path()) == PublishedFiles(alone.path()));
}

// Runs worker 0 of two until it has given the other up.
absl::Status RunUntilStalled(const std::string& store, DecoderPool* decoders) {
  FakeClock clock;
  const CallContext call(&clock, absl::InfiniteFuture());
  absl::Status status;
  std::thread worker(
      [&] { status = RunTestJob(Options(store, 0, 2), Corpus(), decoders, {}, call).status(); });
  clock.AwaitSleepers(1);
  clock.Advance(absl::Minutes(31));
  worker.join();
  return status;
}

TEST_CASE("a worker that is gone is named with what it owes, or replaced when nobody is left") {
  TempDir whole, store;
  REQUIRE(RunAll(whole.path(), Corpus(), 2)[0].ok());
  TestDecoders first, second;
  // Nobody scans for worker 1.
  const absl::Status no_scan = RunUntilStalled(store.path(), first.pool());
  REQUIRE(absl::IsDeadlineExceeded(no_scan));
  REQUIRE_THAT(std::string(no_scan.message()),
               Catch::Contains("scans of other workers; worker 1: ") && Catch::Contains(".scan") &&
                   Catch::Contains("Start these workers again"));

  // Worker 1 has gone after it had scanned: as if it had never encoded.
  REQUIRE(RunAll(store.path(), Corpus(), 2)[0].ok());
  std::filesystem::remove_all(store.path() + "/indexes");
  const std::string work = store.File("work/images");
  int removed = 0;
  const std::vector<std::string> names = *ListDirectory(work);
  for (const std::string& name : names) {
    const std::string hash = name.substr(0, name.find('.'));
    if (!absl::EndsWith(name, ".unit") || WorkShare{0, 2}.OwnerOf(hash) == 0) continue;
    std::filesystem::remove(JoinPath(work, name));
    ++removed;
  }
  {
    // Somebody else is at work and may still make them.
    const Descriptor other(::open((work + "/LOCK").c_str(), O_RDWR | O_CLOEXEC));
    REQUIRE(::flock(other.get(), LOCK_SH) == 0);
    const absl::Status no_units = RunUntilStalled(store.path(), first.pool());
    REQUIRE(absl::IsDeadlineExceeded(no_units));
    REQUIRE_THAT(std::string(no_units.message()),
                 Catch::Contains(absl::StrCat("worker 1: ", removed, " missing")) &&
                     Catch::Contains(".unit"));
  }
  // With nobody left, worker 0 makes them itself.
  CorpusEncoderOptions impatient = Options(store.path(), 0, 2);
  impatient.await.stall_timeout = absl::ZeroDuration();
  const auto summary = RunTestJob(impatient, Corpus(), second.pool());
  REQUIRE(summary.ok());
  REQUIRE(summary->encoded_image_count > 0);
  REQUIRE(PublishedFiles(store.path()) == PublishedFiles(whole.path()));
}

TEST_CASE("a scan of files that have changed since is not taken over") {
  TempDir store, alone;
  REQUIRE(RunAll(store.path(), Corpus(), 2)[0].ok());
  FakeCorpus changed = Corpus();
  changed.pictures["p/7"] = EncodePng(Gradient(31, 31));
  TestDecoders decoders;
  REQUIRE(RunTestJob(Options(alone.path(), 0, 1), Corpus(), decoders.pool()).ok());
  REQUIRE(RunTestJob(Options(alone.path(), 0, 1), changed, decoders.pool()).ok());
  REQUIRE(RunAll(store.path(), changed, 2)[0].ok());
  REQUIRE(PublishedFiles(store.path()) == PublishedFiles(alone.path()));
}

TEST_CASE("a damaged unit of another worker is made anew when nobody else is at work") {
  TempDir whole, store;
  REQUIRE(RunAll(whole.path(), Corpus(), 2)[0].ok());
  REQUIRE(RunAll(store.path(), Corpus(), 2)[0].ok());
  std::filesystem::remove_all(store.path() + "/indexes");
  std::string damaged;
  const std::vector<std::string> names = *ListDirectory(store.File("work/images"));
  for (const std::string& name : names) {
    const std::string hash = name.substr(0, name.find('.'));
    if (absl::EndsWith(name, ".unit") && WorkShare{0, 2}.OwnerOf(hash) == 1) damaged = name;
  }
  const std::string path = store.File("work/images/" + damaged);
  std::string bytes = *ReadFile(path);
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
  REQUIRE(WriteFileAtomically(path, bytes).ok());
  TestDecoders decoders;
  {
    const Descriptor other(::open(store.File("work/images/LOCK").c_str(), O_RDWR | O_CLOEXEC));
    REQUIRE(::flock(other.get(), LOCK_SH) == 0);
    const absl::Status status =
        RunTestJob(Options(store.path(), 0, 2), Corpus(), decoders.pool()).status();
    REQUIRE(absl::IsDataLoss(status));
    REQUIRE_THAT(std::string(status.message()), Catch::Contains(damaged));
  }
  REQUIRE(RunTestJob(Options(store.path(), 0, 2), Corpus(), decoders.pool()).ok());
  REQUIRE(PublishedFiles(store.path()) == PublishedFiles(whole.path()));
}

TEST_CASE("one worker number is taken once, a folder by one job or by workers") {
  TempDir dir;
  const auto first = WorkLock::Take(dir.path(), {0, 2}, "job");
  REQUIRE(first.ok());
  REQUIRE(WorkLock::Take(dir.path(), {1, 2}, "job").ok());
  const absl::Status twice = WorkLock::Take(dir.path(), {0, 2}, "job").status();
  REQUIRE(absl::IsFailedPrecondition(twice));
  REQUIRE_THAT(std::string(twice.message()), Catch::Contains("as worker 0"));
  REQUIRE(absl::IsFailedPrecondition(WorkLock::Take(dir.path(), {0, 1}, "job").status()));
}

TEST_CASE("workers of another job are refused until the first job has ended") {
  TempDir dir;
  {
    const auto first = WorkLock::Take(dir.path(), {0, 2}, "job");
    REQUIRE(first.ok());
    const absl::Status other = WorkLock::Take(dir.path(), {1, 2}, "other").status();
    REQUIRE(absl::IsFailedPrecondition(other));
    REQUIRE_THAT(std::string(other.message()), Catch::Contains("another job is at work"));
    REQUIRE(WorkLock::Take(dir.path(), {1, 2}, "job").ok());
  }
  REQUIRE(WorkLock::Take(dir.path(), {1, 2}, "other").ok());
}

TEST_CASE("stale files go when nobody else is at work, and were there before the job") {
  TempDir dir;
  REQUIRE(WriteFileAtomically(dir.File("old.unit"), "").ok());
  REQUIRE(WriteFileAtomically(dir.File("wanted.unit"), "").ok());
  REQUIRE(WriteFileAtomically(dir.File("new.unit"), "").ok());
  const auto now = std::filesystem::last_write_time(dir.File("new.unit"));
  std::filesystem::last_write_time(dir.File("new.unit"), now + std::chrono::hours(1));
  auto lock = WorkLock::Take(dir.path(), {0, 2}, "job");
  REQUIRE(lock.ok());
  {
    const auto other = WorkLock::Take(dir.path(), {1, 2}, "job");
    RemoveStaleFiles(dir.path(), {"wanted.unit"}, *lock);
    REQUIRE(FileExists(dir.File("old.unit")));
    // Having asked, it still holds its share.
    REQUIRE(absl::IsFailedPrecondition(WorkLock::Take(dir.path(), {0, 1}, "job").status()));
  }
  RemoveStaleFiles(dir.path(), {"wanted.unit"}, *lock);
  REQUIRE(!FileExists(dir.File("old.unit")));
  REQUIRE(FileExists(dir.File("wanted.unit")));
  REQUIRE(FileExists(dir.File("new.unit")));
  REQUIRE(absl::IsFailedPrecondition(WorkLock::Take(dir.path(), {0, 1}, "job").status()));
}

TEST_CASE("a base that was agreed upon and is gone is an error, or replaced when nobody works") {
  TempDir dir;
  auto lock = WorkLock::Take(dir.path(), {0, 2}, "job");
  REQUIRE(lock.ok());
  BaseChoice choice;
  choice.store = dir.path();
  choice.images_index = "images";
  choice.captions_index = "captions";
  choice.agreement_path = dir.File("a.base");
  choice.share = {0, 2};
  choice.lock = &*lock;
  REQUIRE(WriteFileAtomically(choice.agreement_path, "pruned\n").ok());
  {
    const auto other = WorkLock::Take(dir.path(), {1, 2}, "job");
    const absl::Status gone = ChooseBase(choice, CallContext::Unbounded()).status();
    REQUIRE(absl::IsNotFound(gone));
    REQUIRE_THAT(std::string(gone.message()), Catch::Contains("from generation pruned"));
    REQUIRE(*ReadFile(choice.agreement_path) == "pruned\n");
  }
  const auto base = ChooseBase(choice, CallContext::Unbounded());
  REQUIRE(base.ok());
  REQUIRE(base->name() == "");
  REQUIRE(*ReadFile(choice.agreement_path) == "\n");
}

TEST_CASE("workers agree on what the first has said") {
  TempDir dir;
  REQUIRE(*AgreeOn(dir.File("a.base"), "first\n", {1, 3}) == "first\n");
  REQUIRE(*AgreeOn(dir.File("a.base"), "second\n", {0, 3}) == "first\n");
  REQUIRE(ListDirectory(dir.path())->size() == 1);
}

}  // namespace
}  // namespace sightline
