#include "common/base/random_access_file.h"

#include <sys/stat.h>

#include <cerrno>
#include <string>

#include "common/base/error_details.h"
#include "common/base/files.h"
#include "tests/support/catch.h"
#include "tests/support/failing_reads.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

struct Fixture {
  Fixture() {
    for (int i = 0; i < 300'000; ++i) content += std::to_string(i);
    REQUIRE(WriteFileAtomically(path, content).ok());
    file = *RandomAccessFile::Open(path);
  }

  absl::Status Read(int64_t offset, int64_t length, std::string* to) const {
    to->assign(static_cast<size_t>(length), '\0');
    return file->Read(offset, length, to->data());
  }

  TempDir dir;
  const std::string path = dir.File("numbers");
  std::string content;  // a little more than a MiB
  std::unique_ptr<RandomAccessFile> file;
};

bool Mentions(const absl::Status& status, const std::string& text) {
  return std::string(status.message()).find(text) != std::string::npos;
}

TEST_CASE("any stretch of a file is read as it is") {
  const Fixture f;
  REQUIRE(f.file->size() == static_cast<int64_t>(f.content.size()));
  REQUIRE(f.file->path() == f.path);
  std::string got;
  for (const int64_t offset : {0, 1, 4095, 1 << 20}) {
    for (const int64_t length : {0, 1, 5000, 600'000}) {
      REQUIRE(f.Read(offset, length, &got).ok());
      REQUIRE(got == f.content.substr(offset, length));
      REQUIRE(f.file->ReadAgain(offset, length, got.data()).ok());
      REQUIRE(got == f.content.substr(offset, length));
    }
  }
  REQUIRE(f.Read(0, f.file->size(), &got).ok());
  REQUIRE(got == f.content);
  f.file->DropFromCache(0, f.file->size());
  REQUIRE(f.Read(0, f.file->size(), &got).ok());
  REQUIRE(got == f.content);
}

TEST_CASE("what the system has in memory is told from what it has not") {
  const Fixture f;
  std::string got;
  REQUIRE(f.Read(0, f.file->size(), &got).ok());
  got.assign(5000, '\0');
  // Some file systems cannot tell; then nothing is copied, and that is right as well.
  if (f.file->ReadCached(4000, 5000, got.data())) REQUIRE(got == f.content.substr(4000, 5000));
  REQUIRE_FALSE(f.file->ReadCached(f.file->size() - 1, 2, got.data()));
  REQUIRE_FALSE(f.file->ReadCached(f.file->size(), 1, got.data()));
  f.file->WillNeed(0, f.file->size());
  REQUIRE(f.Read(17, 5000, &got).ok());
  REQUIRE(got == f.content.substr(17, 5000));
}

TEST_CASE("a read that fails names file and place, and is told from damage") {
  const Fixture f;
  std::string got;
  for (const int error : {EIO, ESTALE, kShortRead}) {
    CAPTURE(error);
    {
      const FailingReads failing({f.path, error, 1});
      const absl::Status status = f.Read(10, f.file->size() - 10, &got);
      REQUIRE(absl::IsUnavailable(status));
      REQUIRE(IsFailedRead(status));
      REQUIRE(Mentions(status, f.path));
      REQUIRE(Mentions(status, "at byte 1048586"));
      REQUIRE(IsFailedRead(f.file->ReadAgain(0, 10, got.data())));
    }
    REQUIRE(f.Read(10, 20, &got).ok());  // and it is well again
  }
  REQUIRE_FALSE(IsFailedRead(absl::OkStatus()));
  REQUIRE_FALSE(IsFailedRead(absl::UnavailableError("other")));
}

TEST_CASE("a file that is cut short while it is open ends in an error") {
  const Fixture f;
  REQUIRE(::truncate(f.path.c_str(), 5000) == 0);
  std::string got;
  REQUIRE(f.Read(0, 5000, &got).ok());
  REQUIRE(IsFailedRead(f.Read(0, 5001, &got)));
  REQUIRE(IsFailedRead(f.Read(5000, 1, &got)));
}

TEST_CASE("a file that has gone is still read, but not again") {
  const Fixture f;
  REQUIRE(::unlink(f.path.c_str()) == 0);
  std::string got;
  REQUIRE(f.Read(0, 100, &got).ok());
  const absl::Status status = f.file->ReadAgain(0, 100, got.data());
  REQUIRE(IsFailedRead(status));
  REQUIRE(Mentions(status, f.path));
}

TEST_CASE("what is no regular file is refused") {
  TempDir dir;
  REQUIRE(::mkfifo(dir.File("pipe").c_str(), 0600) == 0);
  REQUIRE(absl::IsFailedPrecondition(RandomAccessFile::Open(dir.File("pipe")).status()));
  REQUIRE(absl::IsFailedPrecondition(RandomAccessFile::Open(dir.path()).status()));
  REQUIRE(absl::IsNotFound(RandomAccessFile::Open(dir.File("none")).status()));
}

}  // namespace
}  // namespace sightline
