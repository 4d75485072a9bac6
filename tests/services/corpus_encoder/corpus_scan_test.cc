#include "services/corpus_encoder/corpus_scan.h"

#include <atomic>
#include <filesystem>
#include <thread>

#include "common/base/checksum.h"
#include "common/base/files.h"
#include "tests/services/corpus_encoder/fake_corpus.h"
#include "tests/services/corpus_encoder/scanned_pictures.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

Progress& Silent() {
  static auto* progress = new Progress({}, Clock::Real());
  return *progress;
}

absl::StatusOr<CorpusScan> ScanIn(const TempDir& dir,
                                  const std::vector<std::unique_ptr<CorpusReader>>& corpora,
                                  const CorpusEncoderOptions& options,
                                  const CallContext& call = CallContext::Unbounded()) {
  const WorkFolder folder(dir.path());
  WorkTally tally(folder, options.share);
  return ScanCorpora(corpora, folder, options, tally, call, &Silent());
}

absl::StatusOr<CorpusScan> Scan(const std::vector<std::unique_ptr<CorpusReader>>& corpora,
                                int threads = 2,
                                const CallContext& call = CallContext::Unbounded()) {
  const TempDir dir;
  CorpusEncoderOptions options;
  options.read_threads = threads;
  options.limits.max_bytes = 10;
  return ScanIn(dir, corpora, options, call);
}

std::string Ledger(Quarantine& quarantine) {
  std::string lines;
  REQUIRE(quarantine
              .VisitAll([&](const CorpusProblem& problem) {
                lines += ProblemJsonLine(problem);
                return absl::OkStatus();
              })
              .ok());
  return lines;
}

TEST_CASE("pictures of all corpora are hashed, in the order of their ids") {
  FakeCorpus first, second;
  first.Add("c", "ccc");
  first.Add("a", "aaaa");
  second.Add("b", "b");
  std::vector<std::unique_ptr<CorpusReader>> corpora = Corpora(first);
  corpora.push_back(std::make_unique<FakeCorpus>(second));
  for (const int threads : {1, 4}) {
    const auto scan = Scan(corpora, threads);
    REQUIRE(scan.ok());
    const std::vector<ScannedPicture> pictures = AllOf(scan->pictures);
    REQUIRE(pictures.size() == 3);
    REQUIRE(pictures[0].item.item_id == "a");
    REQUIRE(pictures[1].item.item_id == "b");
    REQUIRE(pictures[1].reader == corpora[1].get());
    REQUIRE(pictures[1].sha256 == Sha256Hex("b"));
    REQUIRE(scan->byte_count == 8);
  }
}

TEST_CASE("what cannot be read is quarantined, trouble of the machine is an error") {
  FakeCorpus corpus;
  corpus.Add("a", "12345678901");
  corpus.Add("b", "b");
  corpus.Add("c", "c");
  corpus.read_errors["c"] = absl::PermissionDeniedError("not yours");
  corpus.listing.rejected.push_back({"d", "/d", "bad name"});
  auto scan = Scan(Corpora(corpus));
  REQUIRE(scan.ok());
  REQUIRE(scan->pictures.size() == 1);
  REQUIRE(scan->picture_count() == 4);
  REQUIRE(Ledger(scan->quarantine) ==
          "{\"item_id\":\"a\",\"path\":\"/pictures/a\",\"reason\":\"too long\"}\n"
          "{\"item_id\":\"c\",\"path\":\"/pictures/c\",\"reason\":\"not yours\"}\n"
          "{\"item_id\":\"d\",\"path\":\"/d\",\"reason\":\"bad name\"}\n");

  corpus.read_errors["c"] = absl::UnavailableError("read /c: Input/output error");
  REQUIRE(absl::IsUnavailable(Scan(Corpora(corpus)).status()));
  corpus.list_error = absl::NotFoundError("no folder");
  REQUIRE(absl::IsNotFound(Scan(Corpora(corpus)).status()));
}

// One picture in a file, with the version that files have.
class FileCorpus : public CorpusReader {
 public:
  explicit FileCorpus(std::string path) : path_(std::move(path)) {}
  absl::Status ListTo(ListingSink& sink) const override { return sink.Item({"a", path_, {}, {}}); }

 private:
  const std::string path_;
};

// By two workers that share a folder.
std::string ShaByTwo(const TempDir& dir, const std::string& path) {
  std::string sha256[2];
  std::vector<std::thread> threads;
  for (int worker = 0; worker < 2; ++worker) {
    threads.emplace_back([&, worker] {
      std::vector<std::unique_ptr<CorpusReader>> corpora;
      corpora.push_back(std::make_unique<FileCorpus>(path));
      CorpusEncoderOptions options;
      options.share = {worker, 2};
      options.await.poll_period = absl::Milliseconds(1);
      const WorkFolder folder(dir.path());
      WorkTally tally(folder, options.share);
      Progress progress({}, Clock::Real());
      const auto scan =
          ScanCorpora(corpora, folder, options, tally, CallContext::Unbounded(), &progress);
      if (scan.ok() && scan->pictures.size() == 1) sha256[worker] = AllOf(scan->pictures)[0].sha256;
    });
  }
  for (std::thread& thread : threads) thread.join();
  REQUIRE(sha256[0] == sha256[1]);
  return sha256[0];
}

TEST_CASE("a picture replaced by one of equal size and age is scanned anew") {
  TempDir work, pictures;
  const std::string path = pictures.File("a.png");
  REQUIRE(WriteFileAtomically(path, "old").ok());
  REQUIRE(ShaByTwo(work, path) == Sha256Hex("old"));
  const auto age = std::filesystem::last_write_time(path);
  const std::string before = FileVersion(path);
  // The kernel's clock may not have ticked since.
  while (FileVersion(path) == before) {
    REQUIRE(WriteFileAtomically(path, "new").ok());
    std::filesystem::last_write_time(path, age);
  }
  REQUIRE(ShaByTwo(work, path) == Sha256Hex("new"));
}

// A corpus of as many small pictures, `low` more of them with the lowest ids of all.
FakeCorpus Many(int count, int low = 0) {
  FakeCorpus corpus;
  for (int i = 0; i < count; ++i) corpus.Add(absl::StrCat("p/", 100000 + i), absl::StrCat(i));
  for (int i = 0; i < low; ++i) corpus.Add(absl::StrCat("a/", i), "low");
  return corpus;
}

TEST_CASE("an id that comes, below all others, costs its own stretch of the scan and a neighbour") {
  const TempDir dir;
  constexpr int kCount = 20000;
  REQUIRE(ScanIn(dir, Corpora(Many(kCount)), {})->read_count == kCount);
  REQUIRE(ScanIn(dir, Corpora(Many(kCount)), {})->read_count == 0);
  const auto scan = ScanIn(dir, Corpora(Many(kCount, 1)), {});
  REQUIRE(scan.ok());
  REQUIRE(scan->pictures.size() == kCount + 1);
  // A stretch that was cut at its greatest length moves the next few along.
  REQUIRE(scan->read_count < kCount / 4);
}

TEST_CASE("a scan that was interrupted goes on where it stopped") {
  const TempDir dir;
  FakeCorpus corpus = Many(5000);
  const CallContext call = CallContext::Unbounded();
  std::atomic<int> reads{0};
  corpus.before_read = [&](const CorpusItem&) {
    if (++reads == 3000) call.cancellation()->Cancel();
  };
  REQUIRE(absl::IsCancelled(ScanIn(dir, Corpora(corpus), {}, call).status()));
  corpus.before_read = nullptr;
  const auto scan = ScanIn(dir, Corpora(corpus), {});
  REQUIRE(scan.ok());
  REQUIRE(scan->pictures.size() == 5000);
  REQUIRE(scan->read_count < 3000);
}

TEST_CASE("an id that one corpus gives twice stays with the first") {
  FakeCorpus corpus;
  corpus.Add("a", "1");
  corpus.Add("a", "2");
  corpus.listing.items[1].path = "/elsewhere/a";
  auto scan = Scan(Corpora(corpus));
  REQUIRE(scan.ok());
  REQUIRE(AllOf(scan->pictures).at(0).item.path == "/pictures/a");
  REQUIRE_THAT(Ledger(scan->quarantine),
               Catch::Contains("/elsewhere/a") && Catch::Contains("taken already by /pictures/a"));
}

TEST_CASE("pictures of the same bytes are warnings in the order of their ids, and kept") {
  const TempDir dir;
  FakeCorpus corpus;
  for (const char* id : {"e", "d", "c", "b", "a"})
    corpus.Add(id, id < std::string("c") ? "x" : "y");
  corpus.listing.warnings.push_back({"z", "/z", "no caption"});
  const auto scan = Scan(Corpora(corpus));
  REQUIRE(scan.ok());
  REQUIRE(scan->pictures.size() == 5);
  REQUIRE(scan->duplicate_count == 3);
  REQUIRE(scan->warnings.WriteTo(dir.File("w")).ok());
  const auto line = [](const std::string& id, const std::string& first) {
    return "{\"item_id\":\"" + id + "\",\"path\":\"/pictures/" + id +
           "\",\"reason\":\"the same picture as " + first + "\"}\n";
  };
  REQUIRE(*ReadFile(dir.File("w")) ==
          "{\"item_id\":\"z\",\"path\":\"/z\",\"reason\":\"no caption\"}\n" + line("b", "a") +
              line("d", "c") + line("e", "c"));
}

TEST_CASE("one id in two corpora is an error that names both paths") {
  FakeCorpus first, second;
  first.Add("a", "1");
  second.Add("a", "2");
  second.listing.items[0].path = "/elsewhere/a";
  std::vector<std::unique_ptr<CorpusReader>> corpora = Corpora(first);
  corpora.push_back(std::make_unique<FakeCorpus>(second));
  const absl::Status status = Scan(corpora).status();
  REQUIRE(absl::IsInvalidArgument(status));
  REQUIRE_THAT(std::string(status.message()),
               Catch::Contains("/pictures/a") && Catch::Contains("/elsewhere/a"));
}

TEST_CASE("nothing at all is an error, and so is a cancelled call") {
  REQUIRE(absl::IsInvalidArgument(Scan(Corpora({})).status()));
  FakeCorpus corpus;
  corpus.Add("a", "1");
  const CallContext call = CallContext::Unbounded();
  call.cancellation()->Cancel();
  REQUIRE(absl::IsCancelled(Scan(Corpora(corpus), 2, call).status()));
}

}  // namespace
}  // namespace sightline
