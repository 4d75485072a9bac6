#include "common/base/read_pace.h"

#include <atomic>
#include <string>
#include <thread>

#include "common/base/checksum.h"
#include "common/base/files.h"
#include "common/base/random_access_file.h"
#include "tests/support/catch.h"
#include "tests/support/fake_clock.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

// A file of five MiB and somebody who reads all of it at 2 MiB a second.
struct Reader {
  Reader() { REQUIRE(WriteFileAtomically(path, std::string(5 * kMiB, 'x')).ok()); }
  ~Reader() { thread.join(); }

  void Start() {
    thread = std::thread([this] {
      ReadPace pace(&clock, 2 * kMiB);
      const ReadPace::Scope scope(&pace);
      const auto file = RandomAccessFile::Open(path);
      std::string piece(kMiB, '\0');
      for (; read < 5; ++read) {
        if (!(*file)->Read(read * kMiB, kMiB, piece.data()).ok()) return;
      }
    });
  }

  TempDir dir;
  const std::string path = dir.File("f");
  FakeClock clock;
  std::atomic<int> read{0};
  std::thread thread;
};

TEST_CASE("a thread reads no faster than its pace") {
  Reader reader;
  reader.Start();
  for (int done = 1; done < 5; ++done) {
    reader.clock.AwaitSleepers(1);
    REQUIRE(reader.read == done);
    reader.clock.Advance(absl::Milliseconds(499));
    REQUIRE(reader.read == done);
    reader.clock.Advance(absl::Milliseconds(1));
    while (reader.read == done) std::this_thread::yield();
  }
}

TEST_CASE("time that passed unused is not saved up") {
  FakeClock clock;
  ReadPace pace(&clock, 2 * kMiB);
  pace.Await(kMiB);
  clock.Advance(absl::Hours(1));
  pace.Await(kMiB);
  std::thread next([&] { pace.Await(kMiB); });
  clock.AwaitSleepers(1);
  clock.Advance(absl::Milliseconds(500));
  next.join();
}

TEST_CASE("a pace is the thread's, for as long as its scope") {
  FakeClock clock;
  ReadPace outer(&clock, 1), inner(&clock, 1);
  REQUIRE(ReadPace::OfThread() == nullptr);
  {
    const ReadPace::Scope a(&outer);
    REQUIRE(ReadPace::OfThread() == &outer);
    {
      const ReadPace::Scope b(&inner);
      REQUIRE(ReadPace::OfThread() == &inner);
      std::thread([] { CHECK(ReadPace::OfThread() == nullptr); }).join();
      const ReadPace::Scope none(nullptr);
      REQUIRE(ReadPace::OfThread() == nullptr);
    }
    REQUIRE(ReadPace::OfThread() == &outer);
  }
  REQUIRE(ReadPace::OfThread() == nullptr);
}

TEST_CASE("digests of files keep to the pace, too") {
  TempDir dir;
  REQUIRE(WriteFileAtomically(dir.File("f"), std::string(kMiB + 1, 'x')).ok());
  FakeClock clock;
  std::thread thread([&] {
    ReadPace pace(&clock, kMiB);
    const ReadPace::Scope scope(&pace);
    CHECK(Sha256HexOfFile(dir.File("f")).ok());
  });
  for (int i = 0; i < 2; ++i) {
    clock.AwaitSleepers(1);
    clock.Advance(absl::Seconds(1));
  }
  thread.join();
}

}  // namespace
}  // namespace sightline
