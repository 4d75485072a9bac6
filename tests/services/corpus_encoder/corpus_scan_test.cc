#include "services/corpus_encoder/corpus_scan.h"

#include <filesystem>
#include <thread>

#include "common/base/checksum.h"
#include "common/base/files.h"
#include "tests/services/corpus_encoder/fake_corpus.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

Progress& Silent() {
  static auto* progress = new Progress({}, Clock::Real());
  return *progress;
}

absl::StatusOr<CorpusScan> Scan(const std::vector<std::unique_ptr<CorpusReader>>& corpora,
                                int threads = 2,
                                const CallContext& call = CallContext::Unbounded()) {
  ScanOptions options;
  options.threads = threads;
  options.max_picture_bytes = 10;
  return ScanCorpora(corpora, options, call, &Silent());
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
    REQUIRE(scan->pictures.size() == 3);
    REQUIRE(scan->pictures[1].item.item_id == "b");
    REQUIRE(scan->pictures[1].reader == corpora[1].get());
    REQUIRE(scan->pictures[1].sha256 == Sha256Hex("b"));
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
  const auto scan = Scan(Corpora(corpus));
  REQUIRE(scan.ok());
  REQUIRE(scan->pictures.size() == 1);
  REQUIRE(QuarantineJsonLines(scan->quarantine) ==
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
  absl::StatusOr<CorpusListing> List() const override {
    CorpusListing listing;
    listing.items.push_back({"a", path_, {}, {}});
    return listing;
  }
  absl::StatusOr<std::string> ReadPicture(const CorpusItem& item,
                                          int64_t max_bytes) const override {
    return ReadPictureFile(item.path, max_bytes);
  }

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
      ScanOptions options;
      options.share = {worker, 2};
      options.work_directory = dir.path();
      options.await.poll_period = absl::Milliseconds(1);
      Progress progress({}, Clock::Real());
      const auto scan = ScanCorpora(corpora, options, CallContext::Unbounded(), &progress);
      if (scan.ok() && scan->pictures.size() == 1) sha256[worker] = scan->pictures[0].sha256;
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
