// Several workers on one store, as threads.
#include <fcntl.h>
#include <sys/file.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <thread>

#include "common/base/descriptor.h"
#include "common/bundle/generation.h"
#include "services/corpus_encoder/base_choice.h"
#include "services/corpus_encoder/work_await.h"
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

// Removes the files of a work folder whose names end in one of `ends` and that `condition` says.
int RemoveFiles(const std::string& store, const std::vector<std::string>& ends,
                const std::function<bool(const std::string& name)>& condition) {
  const std::string work = JoinPath(store, "work/images");
  const std::vector<std::string> names = *ListFilesBelow(work);
  int removed = 0;
  for (const std::string& name : names) {
    const bool matches = std::any_of(ends.begin(), ends.end(), [&](const std::string& end) {
      return absl::EndsWith(name, end);
    });
    if (!matches || !condition(name)) continue;
    std::filesystem::remove(JoinPath(work, name));
    ++removed;
  }
  return removed;
}

bool Always(const std::string&) {
  return true;
}

// Of the two workers whose piece it is.
int OwnerOf(const std::string& path) {
  const std::string name = path.substr(path.rfind('/') + 1);
  return WorkShare{0, 2}.OwnerOf(name.substr(0, name.find('.')));
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
  RemoveFiles(store.path(), {".unit", ".rows"}, Always);
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
  RemoveFiles(store.path(), {".rows"}, Always);
  const int removed = RemoveFiles(store.path(), {".unit"},
                                  [](const std::string& name) { return OwnerOf(name) == 1; });
  {
    // Somebody else is at work and may still make them.
    const Descriptor other(::open(store.File("work/images/LOCK").c_str(), O_RDWR | O_CLOEXEC));
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

void Damage(const std::string& path) {
  std::string bytes = *ReadFile(path);
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
  REQUIRE(WriteFileAtomically(path, bytes).ok());
}

// Runs one worker of two, the other of which is not there.
absl::Status RunAlone(const std::string& store, int worker) {
  TestDecoders decoders;
  CorpusEncoderOptions impatient = Options(store, worker, 2);
  impatient.await.stall_timeout = absl::ZeroDuration();
  return RunTestJob(impatient, Corpus(), decoders.pool()).status();
}

TEST_CASE("damaged units and rows of another worker are made anew when nobody else is at work") {
  TempDir whole, store;
  REQUIRE(RunAll(whole.path(), Corpus(), 2)[0].ok());
  REQUIRE(RunAll(store.path(), Corpus(), 2)[0].ok());
  for (const std::string end : {".unit", ".rows"}) {
    CAPTURE(end);
    std::filesystem::remove_all(store.path() + "/indexes");
    RemoveFiles(store.path(), {".rows"}, Always);
    // Worker 1 does its part, and waits in vain.
    REQUIRE(absl::IsDeadlineExceeded(RunAlone(store.path(), 1)));
    std::string damaged;
    const std::vector<std::string> names = *ListFilesBelow(store.File("work/images"));
    for (const std::string& name : names) {
      const bool wanted = end == ".rows" ? absl::StartsWith(name, "rows/") : OwnerOf(name) == 1;
      if (wanted && absl::EndsWith(name, end)) damaged = name;
    }
    Damage(store.File("work/images/" + damaged));
    // Its units do not matter any more, unless its rows have gone with them.
    if (end == ".unit") RemoveFiles(store.path(), {".rows"}, Always);
    {
      const Descriptor other(::open(store.File("work/images/LOCK").c_str(), O_RDWR | O_CLOEXEC));
      REQUIRE(::flock(other.get(), LOCK_SH) == 0);
      const absl::Status status = RunAlone(store.path(), 0);
      REQUIRE(absl::IsDeadlineExceeded(status) == (end == ".unit"));
      REQUIRE(absl::IsDataLoss(status) == (end == ".rows"));
      if (end == ".rows") {
        REQUIRE_THAT(std::string(status.message()),
                     Catch::Contains(damaged) && Catch::Contains("run worker 1 again"));
      }
    }
    REQUIRE(RunAlone(store.path(), 0).ok());
    REQUIRE(PublishedFiles(store.path()) == PublishedFiles(whole.path()));
  }
}

// Of worker 1, which has done its part and waited in vain for worker 0.
std::string SealOfOther(const std::string& store) {
  const std::string seals = store + "/work/images/seals";
  const std::vector<std::string> names = *ListDirectory(seals);
  for (const std::string& name : names) {
    if (absl::EndsWith(name, ".1.rows")) return JoinPath(seals, name);
  }
  FAIL("worker 1 has sealed nothing");
  return "";
}

TEST_CASE("rows that lack items, or have them twice, are not published, and made anew") {
  TempDir whole;
  REQUIRE(RunAll(whole.path(), Corpus(), 2)[0].ok());
  const auto scanned = [&](const TempDir& store) {
    REQUIRE(RunAll(store.path(), Corpus(), 2)[0].ok());
    std::filesystem::remove_all(store.path() + "/indexes");
    REQUIRE(absl::IsDeadlineExceeded(RunAlone(store.path(), 1)));
  };
  for (const bool twice : {false, true}) {
    TempDir store;
    scanned(store);
    // As if it had not known of a unit, or of one too many.
    const std::string seal = SealOfOther(store.path());
    const std::string sealed = *ReadFile(seal);
    REQUIRE(!sealed.empty());
    REQUIRE(WriteFileAtomically(seal, twice ? sealed + "\n" + sealed : "").ok());
    const absl::Status status = RunAlone(store.path(), 0);
    REQUIRE(absl::IsAborted(status));
    REQUIRE_THAT(std::string(status.message()), Catch::Contains("and the corpus has 601 and") &&
                                                    Catch::Contains("run all of them again"));
    REQUIRE(!FileExists(store.path() + "/indexes/images/CURRENT"));
    REQUIRE(!FileExists(seal));
    REQUIRE(absl::IsDeadlineExceeded(RunAlone(store.path(), 1)));
    REQUIRE(RunAlone(store.path(), 0).ok());
    REQUIRE(PublishedFiles(store.path()) == PublishedFiles(whole.path()));
  }
}

// Rows, their seals, receipts and claims.
int64_t LeftOver(const TempDir& store) {
  const std::vector<std::string> names = *ListFilesBelow(store.File("work/images"));
  return std::count_if(names.begin(), names.end(), [](const std::string& name) {
    return absl::EndsWith(name, ".rows") || absl::StartsWith(name, "shards/");
  });
}

int64_t UnitsAndScans(const TempDir& store) {
  const std::vector<std::string> names = *ListFilesBelow(store.File("work/images"));
  return std::count_if(names.begin(), names.end(), [](const std::string& name) {
    return absl::EndsWith(name, ".unit") || absl::EndsWith(name, ".scan") ||
           absl::EndsWith(name, ".scanned");
  });
}

TEST_CASE("rows that could not go when the generation was written go with the next worker") {
  for (const bool while_scanning : {false, true}) {
    CAPTURE(while_scanning);
    TempDir store;
    REQUIRE(RunAll(store.path(), Corpus(), 2)[0].ok());
    const int64_t units_and_scans = UnitsAndScans(store);
    std::filesystem::remove_all(store.path() + "/indexes");
    REQUIRE(absl::IsDeadlineExceeded(RunAlone(store.path(), 1)));
    // Another worker of the job, in its scan.
    std::unique_ptr<Descriptor> other = std::make_unique<Descriptor>(
        ::open(store.File("work/images/LOCK").c_str(), O_RDWR | O_CLOEXEC));
    REQUIRE(::flock(other->get(), LOCK_SH) == 0);
    REQUIRE(RunAlone(store.path(), 0).ok());
    REQUIRE(LeftOver(store) > 0);
    REQUIRE(RunAlone(store.path(), 0).ok());
    REQUIRE(LeftOver(store) > 0);
    if (while_scanning) {
      // Worker 1 has come when somebody was there, so that the rows are younger than the job.
      FakeCorpus corpus = Corpus();
      corpus.before_read = [&](const CorpusItem&) { other.reset(); };
      RemoveFiles(store.path(), {".scan"},
                  [](const std::string& name) { return OwnerOf(name) == 1; });
      CorpusEncoderOptions options = Options(store.path(), 1, 2);
      options.read_threads = 1;
      TestDecoders decoders;
      REQUIRE(RunTestJob(options, corpus, decoders.pool())->already_there);
      REQUIRE(other == nullptr);
    } else {
      other.reset();
      REQUIRE(RunAlone(store.path(), 0).ok());
    }
    REQUIRE(LeftOver(store) == 0);
    REQUIRE(UnitsAndScans(store) == units_and_scans);
  }
}

TEST_CASE("shards are written by whichever worker is there, each once") {
  TempDir whole, store;
  REQUIRE(RunAll(whole.path(), Corpus(), 2)[0].ok());
  REQUIRE(RunAll(store.path(), Corpus(), 2)[0].ok());
  std::filesystem::remove_all(store.path() + "/indexes");
  RemoveFiles(store.path(), {".rows"}, Always);
  REQUIRE(absl::IsDeadlineExceeded(RunAlone(store.path(), 1)));
  {
    // Worker 0 makes its rows, and is gone before it has written a shard: somebody hangs at
    // all of them.
    std::vector<std::unique_ptr<Descriptor>> claims;
    const std::string shards = store.File("work/images/shards");
    REQUIRE(MakeDirectories(shards).ok());
    for (const char* name : {"images-0", "images-1", "captions-0", "captions-1"}) {
      const std::string path = shards + "/LOCK." + name;
      claims.push_back(std::make_unique<Descriptor>(::open(path.c_str(), O_RDWR | O_CREAT, 0666)));
      REQUIRE(::flock(claims.back()->get(), LOCK_EX) == 0);
    }
    const absl::Status hangs = RunAlone(store.path(), 0);
    REQUIRE(absl::IsDeadlineExceeded(hangs));
    REQUIRE_THAT(
        std::string(hangs.message()),
        Catch::Contains("shards that other workers are writing") && Catch::Contains("captions-1"));
  }
  // Then worker 1 writes them all, and worker 0 finds them.
  REQUIRE(RunAlone(store.path(), 1).ok());
  const auto written = [&] {
    std::map<std::string, std::filesystem::file_time_type> times;
    const std::vector<std::string> names = *ListFilesBelow(store.File("indexes"));
    for (const std::string& name : names) {
      if (!absl::StrContains(name, "/shards/") || absl::EndsWith(name, ".probes")) continue;
      times[name] = std::filesystem::last_write_time(store.File("indexes/" + name));
    }
    return times;
  };
  const auto by_worker_1 = written();
  REQUIRE(by_worker_1.size() == 8);
  REQUIRE(RunAlone(store.path(), 0).ok());
  REQUIRE(written() == by_worker_1);
  REQUIRE(PublishedFiles(store.path()) == PublishedFiles(whole.path()));
}

TEST_CASE("a worker that is at work is waited for, however long it takes") {
  const TempDir dir;
  const WorkFolder folder(dir.path());
  FakeClock clock;
  const CallContext call(&clock, absl::InfiniteFuture());
  Progress progress({}, &clock);
  Awaited awaited;
  awaited.what = "units";
  awaited.seal = [&](int worker) { return folder.RowsSeal("seal", worker); };
  awaited.pieces = [](const auto&) { return absl::OkStatus(); };
  WorkTally busy(folder, {1, 3});
  REQUIRE(MakeDirectories(dir.File("seals")).ok());
  REQUIRE(WriteFileAtomically(folder.RowsSeal("seal", 2), "").ok());
  absl::Status status = absl::UnknownError("still waiting");
  std::thread waiting([&] {
    status = AwaitSeals(folder, awaited, {0, 3}, AwaitOptions(), call, &progress);
  });
  for (int i = 0; i < 5; ++i) {
    clock.AwaitSleepers(1);
    busy.Note();
    clock.Advance(absl::Minutes(29));
  }
  clock.AwaitSleepers(1);
  REQUIRE(WriteFileAtomically(folder.RowsSeal("seal", 1), "").ok());
  clock.Advance(absl::Minutes(29));
  waiting.join();
  REQUIRE(status.ok());
}

TEST_CASE("one worker number is taken once, a folder by one job or by workers") {
  TempDir dir;
  const auto first = WorkLock::Take(dir.path(), {0, 2}, "job");
  REQUIRE(first.ok());
  REQUIRE(WorkLock::Take(dir.path(), {1, 2}, "job").ok());
  const absl::Status twice = WorkLock::Take(dir.path(), {0, 2}, "job").status();
  REQUIRE(absl::IsAborted(twice));
  REQUIRE_THAT(std::string(twice.message()), Catch::Contains("as worker 0"));
  REQUIRE(absl::IsAborted(WorkLock::Take(dir.path(), {0, 1}, "job").status()));
}

TEST_CASE("workers of another job are refused until the first job has ended") {
  TempDir dir;
  {
    const auto first = WorkLock::Take(dir.path(), {0, 2}, "job");
    REQUIRE(first.ok());
    const absl::Status other = WorkLock::Take(dir.path(), {1, 2}, "other").status();
    REQUIRE(absl::IsAborted(other));
    REQUIRE_THAT(std::string(other.message()), Catch::Contains("another job is at work"));
    REQUIRE(WorkLock::Take(dir.path(), {1, 2}, "job").ok());
  }
  REQUIRE(WorkLock::Take(dir.path(), {1, 2}, "other").ok());
}

TEST_CASE("stale files go when nobody else is at work, and were there before the job") {
  TempDir dir;
  const WorkFolder folder(dir.path());
  const auto hash = [](char digit) { return std::string(64, digit); };
  const std::vector<std::string> old = {
      folder.UnitPath(hash('1')),    folder.RowsPath(hash('1')),
      folder.ScanSeal(hash('1'), 1), folder.UnitPath(hash('2')) + ".7.0.tmp",
      dir.File(hash('2') + ".unit"), dir.File("spool.1.0.tmp")};
  const std::vector<std::string> kept = {folder.UnitPath(hash('2')), folder.ScanSeal(hash('2'), 1),
                                         dir.File("LOCK.x")};
  const std::string young = folder.UnitPath(hash('3'));
  for (const auto& files : {old, kept, {young}}) {
    for (const std::string& file : files) {
      REQUIRE(MakeFolderOf(file).ok());
      REQUIRE(WriteFileAtomically(file, "").ok());
    }
  }
  const auto now = std::filesystem::last_write_time(young);
  std::filesystem::last_write_time(young, now + std::chrono::hours(1));
  KeptPieces pieces;
  pieces.Add(hash('2'));
  pieces.Sort();
  auto lock = WorkLock::Take(dir.path(), {0, 2}, "job");
  REQUIRE(lock.ok());
  {
    const auto other = WorkLock::Take(dir.path(), {1, 2}, "job");
    RemoveStaleFiles(folder, pieces, *lock);
    for (const std::string& file : old) REQUIRE(FileExists(file));
    // Having asked, it still holds its share.
    REQUIRE(absl::IsAborted(WorkLock::Take(dir.path(), {0, 1}, "job").status()));
  }
  RemoveStaleFiles(folder, pieces, *lock);
  for (const std::string& file : old) {
    CAPTURE(file);
    REQUIRE(!FileExists(file));
  }
  for (const std::string& file : kept) REQUIRE(FileExists(file));
  REQUIRE(FileExists(young));
  REQUIRE(absl::IsAborted(WorkLock::Take(dir.path(), {0, 1}, "job").status()));
}

TEST_CASE("a base that was agreed upon and is gone is an error, or replaced when nobody works") {
  TempDir dir;
  auto lock = WorkLock::Take(dir.path(), {0, 2}, "job");
  REQUIRE(lock.ok());
  BaseChoice choice;
  choice.store.folder = dir.path();
  choice.images_index = "images";
  choice.captions_index = "captions";
  choice.agreement_path = dir.File("a.base");
  choice.share = {0, 2};
  choice.lock = &*lock;
  WorkTally tally(WorkFolder(dir.path()), choice.share);
  choice.tally = &tally;
  choice.carries = [](const BaseGeneration&) { return true; };
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
