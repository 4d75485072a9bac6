#include "common/object_store/fetch.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "common/base/checksum.h"
#include "common/base/descriptor.h"
#include "common/base/error_details.h"
#include "common/base/files.h"
#include "common/bundle/layout.h"
#include "tests/common/object_store/memory_object_store.h"
#include "tests/support/catch.h"
#include "tests/support/fake_clock.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

constexpr int kLength = 1000;

struct Rig {
  Rig() {
    for (int i = 0; i < kLength; ++i) content.push_back(static_cast<char>(i * 7 % 251));
    expected = {"models/x", kLength, Sha256Hex(content)};
    store.Put(expected.key, content);
    options.piece_bytes = 64;
  }
  absl::Status Fetch(const CallContext& call = CallContext::Unbounded()) {
    return FetchFile(&store, expected, path, options, call);
  }
  std::string part() const { return absl::StrCat(path, kPartSuffix); }

  MemoryObjectStore store;
  TempDir dir;
  std::string content;
  ExpectedFile expected;
  FetchOptions options;
  const std::string path = dir.File("a/b/file");
};

TEST_CASE("an object becomes a file, in pieces of any size over any number of connections") {
  Rig rig;
  rig.options.connections = GENERATE(1, 3, 8);
  rig.options.piece_bytes = GENERATE(1, 64, 333, kLength, 10 * kLength);
  REQUIRE(rig.Fetch().ok());
  CHECK(*ReadFile(rig.path) == rig.content);
  CHECK(!FileExists(rig.part()));
  CHECK(rig.store.bytes_read() == kLength);
  REQUIRE(rig.Fetch().ok());  // it is there
  CHECK(rig.store.bytes_read() == kLength);
}

TEST_CASE("no manifest can name what is half fetched") {
  CHECK(IsSafePath("x.part"));
  CHECK(!IsSafePath(absl::StrCat("x", kPartSuffix)));
}

TEST_CASE("an empty object becomes an empty file") {
  Rig rig;
  rig.expected = {"models/empty", 0, Sha256Hex("")};
  REQUIRE(rig.Fetch().ok());
  CHECK(*ReadFile(rig.path) == "");
}

TEST_CASE("a fetch that was cut off goes on where it stopped") {
  Rig rig;
  rig.options.connections = GENERATE(1, 4);
  int reads = 0;
  rig.store.before = [&](const std::string&, const std::string&) {
    return ++reads > 6 ? absl::UnavailableError("away") : absl::OkStatus();
  };
  if (rig.options.connections > 1) {
    rig.store.before = [](const std::string&, const std::string&) {
      return absl::UnavailableError("away");
    };
  }
  CHECK(absl::IsUnavailable(rig.Fetch()));
  CHECK(!FileExists(rig.path));
  const int64_t there = *FileSize(rig.part());
  CHECK(there == (rig.options.connections == 1 ? 6 * 64 : 0));
  rig.store.before = nullptr;
  const int64_t before = rig.store.bytes_read();
  REQUIRE(rig.Fetch().ok());
  CHECK(rig.store.bytes_read() - before == kLength - there);
  CHECK(*ReadFile(rig.path) == rig.content);
}

TEST_CASE("what an earlier process left is compared with the rest, and given up if it is bad") {
  Rig rig;
  REQUIRE(MakeDirectories(rig.dir.File("a/b")).ok());
  const int which = GENERATE(0, 1, 2);
  INFO(which);
  std::string left = rig.content.substr(0, 300);
  if (which == 1) left[100] ^= 1;                 // a block that the disk has lost
  if (which == 2) left.append(2 * kLength, 'x');  // of another file
  REQUIRE(WriteFileAtomically(rig.part(), left).ok());
  const absl::Status first = rig.Fetch();
  CHECK(first.ok() == (which != 1));
  CHECK(HasReason(first, reasons::kFetchFailed) == (which == 1));
  if (which == 0) CHECK(rig.store.bytes_read() == kLength - 300);
  REQUIRE(rig.Fetch().ok());
  CHECK(*ReadFile(rig.path) == rig.content);
}

TEST_CASE("an object that is damaged, short or gone is no file") {
  Rig rig;
  const int which = GENERATE(0, 1, 2);
  INFO(which);
  if (which == 0) rig.store.Put(rig.expected.key, std::string(kLength, 'x'));
  if (which == 1) rig.store.Put(rig.expected.key, rig.content.substr(1));
  if (which == 2) REQUIRE(rig.store.Remove(rig.expected.key, CallContext::Unbounded()).ok());
  const absl::Status fetched = rig.Fetch();
  CHECK(absl::IsNotFound(fetched) == (which == 2));
  CHECK(HasReason(fetched, reasons::kFetchFailed) == (which != 2));
  CHECK_THAT(std::string(fetched.message()), Catch::Contains("s3://memory/models/x"));
  CHECK(!FileExists(rig.path));
  rig.store.Put(rig.expected.key, rig.content);
  REQUIRE(rig.Fetch().ok());  // mended
}

TEST_CASE("a full disk is told as such, and what was fetched makes room") {
  Rig rig;
  REQUIRE(MakeDirectories(rig.dir.File("a/b")).ok());
  REQUIRE(::symlink("/dev/full", rig.part().c_str()) == 0);
  const absl::Status fetched = rig.Fetch();
  CHECK(HasReason(fetched, reasons::kCacheFull));
  CHECK_THAT(std::string(fetched.message()), Catch::Contains(rig.part()));
  CHECK(!FileExists(rig.path));
  CHECK(::access(rig.part().c_str(), F_OK) != 0);
  REQUIRE(rig.Fetch().ok());
}

TEST_CASE("a fetch ends with its call, also while it waits for another process") {
  Rig rig;
  const bool locked = GENERATE(false, true);
  REQUIRE(MakeDirectories(rig.dir.File("a/b")).ok());
  Descriptor other(::open(rig.part().c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (locked) REQUIRE(::flock(other.get(), LOCK_EX) == 0);
  FakeClock clock;
  const CallContext call(&clock, absl::InfiniteFuture());
  if (!locked) {
    rig.store.before = [&](const std::string&, const std::string&) {
      call.cancellation()->Cancel();
      return absl::OkStatus();
    };
    rig.options.connections = 1;
    CHECK(absl::IsCancelled(rig.Fetch(call)));
    return;
  }
  absl::Status fetched;
  std::thread fetch([&] { fetched = rig.Fetch(call); });
  clock.AwaitSleepers(1);
  call.cancellation()->Cancel();
  clock.Advance(absl::Seconds(1));
  fetch.join();
  CHECK(absl::IsCancelled(fetched));
}

TEST_CASE("who has waited for another process finds its file") {
  Rig rig;
  REQUIRE(MakeDirectories(rig.dir.File("a/b")).ok());
  Descriptor other(::open(rig.part().c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  REQUIRE(::flock(other.get(), LOCK_EX) == 0);
  FakeClock clock;
  absl::Status fetched = absl::UnknownError("not run");
  std::thread fetch([&] { fetched = rig.Fetch(CallContext(&clock, absl::InfiniteFuture())); });
  clock.AwaitSleepers(1);
  REQUIRE(::write(other.get(), rig.content.data(), rig.content.size()) == kLength);
  REQUIRE(::rename(rig.part().c_str(), rig.path.c_str()) == 0);
  other.Close();
  clock.Advance(absl::Seconds(1));
  fetch.join();
  CHECK(fetched.ok());
  CHECK(rig.store.bytes_read() == 0);
  CHECK(*ReadFile(rig.path) == rig.content);
  CHECK(!FileExists(rig.part()));
}

}  // namespace
}  // namespace sightline
