#include "common/base/read_progress.h"

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "common/base/checksum.h"
#include "common/base/files.h"
#include "common/base/random_access_file.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

constexpr int64_t kLength = (int64_t{3} << 20) + 5;

// A file of a little more than three MiB.
struct File {
  File() { REQUIRE(WriteFileAtomically(path, std::string(kLength, 'x')).ok()); }

  void Read(int64_t offset, int64_t length) const {
    std::string bytes(static_cast<size_t>(length), '\0');
    const auto file = RandomAccessFile::Open(path);
    REQUIRE(file.ok());
    REQUIRE((*file)->Read(offset, length, bytes.data()).ok());
  }

  TempDir dir;
  const std::string path = dir.File("f");
};

TEST_CASE("what a thread reads is counted, each byte once, and of files that were named") {
  const File file, other;
  ReadProgress progress({{file.path, kLength}, {"/never read", 100}});
  CHECK(progress.bytes().all == kLength + 100);
  {
    const ReadProgress::Scope scope(&progress);
    file.Read(0, 1000);
    CHECK(progress.bytes().done == 1000);
    other.Read(0, 1000);
    std::thread([&] { file.Read(0, 1000); }).join();  // which is not of this thread
    CHECK(progress.bytes().done == 1000);
    REQUIRE(Sha256HexOfFile(file.path).ok());
    file.Read(0, kLength);
    CHECK(progress.bytes().done == kLength);
  }
  file.Read(0, 1000);
  CHECK(progress.bytes().done == kLength);
  CHECK(progress.bytes().all == kLength + 100);
}

TEST_CASE("what turns out not to have to be read is taken off the whole") {
  ReadProgress progress({{"/a", 100}, {"/b", 50}});
  progress.Add("/a", 30);
  progress.Expect("/a", 60);
  CHECK(progress.bytes().all == 140);
  progress.Expect("/a", 80);  // which is no news
  CHECK(progress.bytes().all == 140);
  progress.Add("/a", 1000);
  CHECK(progress.bytes().done == 90);
  progress.Expect("/a", 0);
  progress.Expect("/b", 0);
  progress.Expect("/c", 0);
  progress.Add("/b", 10);
  CHECK(progress.bytes().done == 90);
  CHECK(progress.bytes().all == 90);
}

TEST_CASE("who asks meanwhile sees it grow, and never more than all") {
  ReadProgress progress({{"/a", 100'000}, {"/b", 100'000}});
  std::vector<std::thread> readers;
  std::atomic<int> reading{2};
  for (const char* path : {"/a", "/b"}) {
    readers.emplace_back([&progress, &reading, path] {
      const ReadProgress::Scope scope(&progress);
      for (int i = 0; i < 1000; ++i) ReadProgress::AddOnThread(path, 60);
      ReadProgress::ExpectOnThread(path, 10'000);
      for (int i = 0; i < 1000; ++i) ReadProgress::AddOnThread(path, 60);
      --reading;
    });
  }
  ReadProgress::Bytes last{0, 200'000};
  bool fine = true;
  while (reading > 0) {
    const ReadProgress::Bytes now = progress.bytes();
    fine = fine && now.done >= last.done && now.all <= last.all && now.done <= now.all;
    last = now;
  }
  for (std::thread& reader : readers) reader.join();
  CHECK(fine);
  CHECK(progress.bytes().done == 140'000);
  CHECK(progress.bytes().all == 140'000);
}

TEST_CASE("a thread without a progress counts nothing, and one within another gives it back") {
  ReadProgress outer({{"/a", 100}}), inner({{"/a", 100}});
  ReadProgress::AddOnThread("/a", 1);
  const ReadProgress::Scope scope(&outer);
  {
    const ReadProgress::Scope within(&inner);
    ReadProgress::AddOnThread("/a", 10);
  }
  ReadProgress::AddOnThread("/a", 20);
  CHECK(inner.bytes().done == 10);
  CHECK(outer.bytes().done == 20);
}

}  // namespace
}  // namespace sightline
