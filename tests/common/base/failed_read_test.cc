#include "common/base/failed_read.h"

#include <unistd.h>

#include <cerrno>
#include <string>

#include "common/base/error_details.h"
#include "common/base/files.h"
#include "common/base/random_access_file.h"
#include "tests/support/catch.h"
#include "tests/support/failing_reads.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

TEST_CASE("what could not be read is found readable once it is") {
  const TempDir dir;
  const std::string path = dir.File("numbers");
  REQUIRE(WriteFileAtomically(path, "0123456789").ok());
  const auto file = *RandomAccessFile::Open(path);
  char bytes[4];
  absl::Status failed;
  {
    const FailingReads failing({path, EIO});
    failed = file->Read(3, 4, bytes);
    REQUIRE(IsFailedRead(failed));
    CHECK(IsFailedRead(ReadWhatFailed(failed)));
  }
  CHECK(ReadWhatFailed(failed).ok());
  // Of the file as it is now.
  REQUIRE(WriteFileAtomically(path, "0123").ok());
  const absl::Status shorter = ReadWhatFailed(failed);
  CHECK(IsFailedRead(shorter));
  CHECK(GetReason(shorter)->metadata.at("offset") == "4");
  CHECK(GetReason(shorter)->metadata.at("length") == "3");
  REQUIRE(::unlink(path.c_str()) == 0);
  const absl::Status gone = ReadWhatFailed(failed);
  CHECK(IsFailedRead(gone));
  CHECK(GetReason(gone)->metadata.at("file") == path);
}

TEST_CASE("what is no failed read, or does not say of what, is nothing to read") {
  CHECK(ReadWhatFailed(absl::OkStatus()).ok());
  CHECK(ReadWhatFailed(absl::UnavailableError("away")).ok());
  for (const char* number : {"", "-1", "many"}) {
    CHECK(ReadWhatFailed(MakeError(reasons::kReadFailed, "read",
                                   {{"file", "/none"}, {"offset", number}, {"length", "1"}}))
              .ok());
  }
}

}  // namespace
}  // namespace sightline
