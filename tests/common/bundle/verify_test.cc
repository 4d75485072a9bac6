#include "common/bundle/verify.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <string>
#include <vector>

#include "common/base/error_details.h"
#include "common/base/files.h"
#include "common/bundle/rerankers.h"
#include "tests/common/bundle/container_surgery.h"
#include "tests/common/bundle/items.h"
#include "tests/support/catch.h"
#include "tests/support/failing_reads.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

using bundle::v1::GenerationManifest;

// A generation of two shards in a store of its own, and a folder for stamps.
struct Fixture {
  Fixture() : manifest(*WriteTestGeneration(store.path(), "g1", 40, 2)) {
    options.state_dir = state.path();
  }

  std::string Path(int shard, bool features) const {
    const auto& entry = manifest.shards(shard);
    return JoinPath(GenerationDirectory(store.path(), "images", "g1"),
                    features ? entry.features().path() : entry.vectors().path());
  }

  absl::Status Verify() {
    return VerifyGeneration(store.path(), manifest, options, CallContext::Unbounded(), &summary);
  }

  TempDir store;
  TempDir state;
  GenerationManifest manifest;
  VerifyOptions options;
  VerifySummary summary;
};

bool Mentions(const absl::Status& status, const std::string& text) {
  return std::string(status.message()).find(text) != std::string::npos;
}

// Sets the modification time, so that the test depends neither on the clock nor on how
// finely the file system counts.
void Touch(const std::string& path, int64_t seconds) {
  const timespec times[2] = {{seconds, 0}, {seconds, 0}};
  REQUIRE(::utimensat(AT_FDCWD, path.c_str(), times, 0) == 0);
}

void FlipBit(const std::string& path, size_t at) {
  std::string bytes = *ReadFile(path);
  bytes.at(at) ^= 1;
  Overwrite(path, bytes);
}

TEST_CASE("a sound generation is read once and then believed") {
  Fixture f;
  REQUIRE(f.Verify().ok());
  REQUIRE(f.summary.files_read == 4);
  REQUIRE(f.summary.files_stamped == 0);
  int64_t bytes = 0;
  for (const auto& shard : f.manifest.shards()) {
    bytes += shard.vectors().byte_count() + shard.features().byte_count();
  }
  REQUIRE(f.summary.bytes_read == bytes);
  REQUIRE(f.summary.stamps.ok());
  REQUIRE(f.Verify().ok());
  REQUIRE(f.summary.files_read == 0);
  REQUIRE(f.summary.files_stamped == 4);
}

TEST_CASE("without a state folder everything is read every time") {
  Fixture f;
  f.options.state_dir = "";
  for (int round = 0; round < 2; ++round) {
    REQUIRE(f.Verify().ok());
    REQUIRE(f.summary.files_read == 4);
  }
  REQUIRE(VerifyGeneration(f.store.path(), f.manifest, VerifyOptions()).ok());
}

TEST_CASE("a stamp holds for this file, this time, this manifest and this depth only") {
  Fixture f;
  REQUIRE(f.Verify().ok());
  SECTION("touched") {
    Touch(f.Path(1, true), 1'000'000);
    REQUIRE(f.Verify().ok());
    REQUIRE(f.summary.files_read == 1);
  }
  SECTION("replaced by a copy of the same age") {
    struct stat before;
    REQUIRE(::stat(f.Path(0, false).c_str(), &before) == 0);
    REQUIRE(WriteFileAtomically(f.Path(0, false), *ReadFile(f.Path(0, false))).ok());
    const timespec times[2] = {before.st_mtim, before.st_mtim};
    REQUIRE(::utimensat(AT_FDCWD, f.Path(0, false).c_str(), times, 0) == 0);
    REQUIRE(f.Verify().ok());
    REQUIRE(f.summary.files_read == 1);
  }
  SECTION("another manifest") {
    f.manifest.set_create_time("2024-05-01T00:00:00Z");
    REQUIRE(f.Verify().ok());
    REQUIRE(f.summary.files_read == 4);
  }
  SECTION("sha256 asked for") {
    f.options.sha256 = true;
    REQUIRE(f.Verify().ok());
    REQUIRE(f.summary.files_read == 4);
    REQUIRE(f.Verify().ok());
    REQUIRE(f.summary.files_stamped == 4);
  }
  SECTION("a damaged stamp") {
    const std::string verified = f.state.File("verified");
    const std::vector<std::string> names = *ListDirectory(verified);
    for (const std::string& name : names) FlipBit(JoinPath(verified, name), 40);
    REQUIRE(f.Verify().ok());
    REQUIRE(f.summary.files_read == 4);
  }
}

TEST_CASE("a changed byte of any file is found and named") {
  for (const int shard : {0, 1}) {
    for (const bool features : {false, true}) {
      CAPTURE(shard, features);
      Fixture f;
      FlipBit(f.Path(shard, features), 4096);
      const absl::Status status = f.Verify();
      REQUIRE(absl::IsDataLoss(status));
      REQUIRE(Mentions(status, f.Path(shard, features)));
      // Found again: nothing has stamped it.
      REQUIRE(absl::IsDataLoss(f.Verify()));
    }
  }
}

TEST_CASE("lengths are compared before anything is read") {
  Fixture f;
  FlipBit(f.Path(0, false), 4096);
  const std::string last = f.Path(1, true);
  SECTION("truncated") {
    const std::string bytes = *ReadFile(last);
    Overwrite(last, bytes.substr(0, bytes.size() - 1));
    const absl::Status status = f.Verify();
    REQUIRE(absl::IsDataLoss(status));
    REQUIRE(Mentions(status, last));
  }
  SECTION("missing") {
    REQUIRE(::unlink(last.c_str()) == 0);
    const absl::Status status = f.Verify();
    REQUIRE(absl::IsDataLoss(status));
    REQUIRE(Mentions(status, last + " is missing"));
  }
  REQUIRE(f.summary.files_read == 0);
}

TEST_CASE("a whole file of another making passes for CRCs and not for SHA-256") {
  Fixture f;
  std::string bytes = *ReadFile(f.Path(0, false));
  const size_t at = RepairChecksums(&bytes, "embeddings").offset;
  PatchNumber(123.0f, at, &bytes);
  RepairChecksums(&bytes);
  Overwrite(f.Path(0, false), bytes);
  REQUIRE(f.Verify().ok());
  f.options.sha256 = true;
  const absl::Status status = f.Verify();
  REQUIRE(absl::IsDataLoss(status));
  REQUIRE(Mentions(status, "SHA-256"));
}

TEST_CASE("content that contradicts itself is found though checksums are right") {
  Fixture f;
  std::string bytes = *ReadFile(f.Path(0, false));
  const size_t at = RepairChecksums(&bytes, "item_id/offsets").offset;
  PatchNumber(int64_t{1} << 50, at + 8, &bytes);
  RepairChecksums(&bytes);
  Overwrite(f.Path(0, false), bytes);
  REQUIRE(absl::IsDataLoss(f.Verify()));
}

TEST_CASE("features of another reranker are refused") {
  Fixture f;
  f.manifest.set_reranker_model(Sha256Hex("another reranker"));
  const absl::Status status = f.Verify();
  REQUIRE(absl::IsDataLoss(status));
  REQUIRE(Mentions(status, f.manifest.reranker_model()));
}

TEST_CASE("features of every reranker must be there") {
  Fixture f;
  SetRerankers({{"fast", TestReranker()}, {"fine", Sha256Hex("another reranker")}}, &f.manifest);
  const absl::Status status = f.Verify();
  REQUIRE(absl::IsDataLoss(status));
  REQUIRE(Mentions(status, Sha256Hex("another reranker")));
  REQUIRE(Mentions(status, "'fine'"));
}

TEST_CASE("a server verifies what it serves") {
  Fixture f;
  FlipBit(f.Path(0, false), 4096);
  FlipBit(f.Path(1, true), 4096);
  f.options.shards = {1};
  f.options.features = false;
  REQUIRE(f.Verify().ok());
  REQUIRE(f.summary.files_read == 1);
  f.options.shards = {0};
  f.options.features = true;
  f.options.vectors = false;
  REQUIRE(f.Verify().ok());
  for (const int shard : {-1, 2}) {
    f.options.shards = {shard};
    REQUIRE(absl::IsInvalidArgument(f.Verify()));
  }
}

// A generation whose second shard has a file of a kind of index, of more than one piece.
struct IndexFileFixture : Fixture {
  IndexFileFixture()
      : whole((1 << 20) + 12'345, 'g'), path(*AddIndexFile(store.path(), 1, whole, &manifest)) {}

  std::string Reason() {
    const absl::Status status = Verify();
    CAPTURE(status);
    REQUIRE(absl::IsDataLoss(status));
    CHECK(Mentions(status, path));
    return GetReason(status)->reason;
  }

  const std::string whole;
  const std::string path;
};

TEST_CASE("a file of the index is read with the vectors, and stamped") {
  IndexFileFixture f;
  f.options.features = false;
  REQUIRE(f.Verify().ok());
  CHECK(f.summary.files_read == 3);
  REQUIRE(f.Verify().ok());
  CHECK(f.summary.files_stamped == 3);
  Touch(f.path, 1'000'000);
  REQUIRE(f.Verify().ok());
  CHECK(f.summary.files_read == 1);
  CHECK(f.summary.bytes_read == static_cast<int64_t>(f.whole.size()));
  ForgetStamps(f.state.path(), {f.path});
  REQUIRE(f.Verify().ok());
  CHECK(f.summary.files_read == 1);
}

TEST_CASE("a file of the index that is missing, cut short or changed is refused") {
  IndexFileFixture f;
  SECTION("missing") {
    REQUIRE(::unlink(f.path.c_str()) == 0);
    CHECK(f.Reason() == reasons::kFileMissing.name);
    CHECK(absl::IsDataLoss(CheckLengths(f.store.path(), f.manifest, f.options)));
  }
  SECTION("cut short") {
    Overwrite(f.path, f.whole.substr(1));
    CHECK(f.Reason() == reasons::kLengthMismatch.name);
    CHECK(absl::IsDataLoss(CheckLengths(f.store.path(), f.manifest, f.options)));
  }
  SECTION("one bit, at its beginning, where a piece ends, at its end") {
    for (const size_t at : {size_t{0}, size_t{1} << 20, f.whole.size() - 1}) {
      FlipBit(f.path, at);
      CHECK(f.Reason() == reasons::kChecksumMismatch.name);
      FlipBit(f.path, at);
    }
    CHECK(f.Verify().ok());
  }
  SECTION("which is found when the shard is loaded, too") {
    FlipBit(f.path, 7);
    const auto load = [&](int shard) {
      return LoadShard(f.store.path(), f.manifest, shard, {}, CallContext::Unbounded()).status();
    };
    CHECK(load(0).ok());
    CHECK(HasReason(load(1), reasons::kChecksumMismatch));
  }
}

TEST_CASE("who serves features only is not concerned with the index's files") {
  IndexFileFixture f;
  REQUIRE(::unlink(f.path.c_str()) == 0);
  f.options.vectors = false;
  CHECK(f.Verify().ok());
  CHECK(f.summary.files_read == 2);
}

TEST_CASE("a file of the index that is read wrongly is read again before it is called damaged") {
  IndexFileFixture f;
  {
    const FailingReads once({f.path, kFlippedOnce});
    CHECK(f.Verify().ok());
  }
  ForgetStamps(f.state.path(), {f.path});
  const FailingReads failing({f.path, EIO, 1});
  CHECK(HasReason(f.Verify(), reasons::kReadFailed));
}

TEST_CASE("stamps that cannot be kept cost time and nothing else") {
  Fixture f;
  Overwrite(f.state.File("file"), "");
  f.options.state_dir = f.state.File("file");  // a file where a folder should be
  for (int round = 0; round < 2; ++round) {
    REQUIRE(f.Verify().ok());
    REQUIRE(f.summary.files_read == 4);
    REQUIRE_FALSE(f.summary.stamps.ok());
  }
}

TEST_CASE("stamps of generations that are gone are removed") {
  Fixture f;
  REQUIRE(f.Verify().ok());
  REQUIRE(ListDirectory(f.state.File("verified"))->size() == 4);
  const auto next = WriteTestGeneration(f.store.path(), "g2", 10, 1);
  REQUIRE(next.ok());
  for (const int shard : {0, 1}) {
    for (const bool features : {false, true}) ::unlink(f.Path(shard, features).c_str());
  }
  REQUIRE(VerifyGeneration(f.store.path(), *next, f.options).ok());
  REQUIRE(ListDirectory(f.state.File("verified"))->size() == 2);
}

TEST_CASE("verification ends with the call") {
  Fixture f;
  const CallContext call = CallContext::Unbounded();
  call.cancellation()->Cancel();
  REQUIRE(
      absl::IsCancelled(VerifyGeneration(f.store.path(), f.manifest, f.options, call, &f.summary)));
  REQUIRE(f.summary.files_read == 0);
}

}  // namespace
}  // namespace sightline
