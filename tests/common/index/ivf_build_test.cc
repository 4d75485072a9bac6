#include "common/index/ivf_build.h"

#include <atomic>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "common/base/files.h"
#include "common/kernels/cpu.h"
#include "tests/common/bundle/container_surgery.h"
#include "tests/common/index/ivf_shard.h"
#include "tests/support/catch.h"
#include "tests/support/fake_clock.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

const char* const kCodes[] = {"rows", "int8", "pq4", "rabitq", "rabitq/axes"};
constexpr int kDimension = 40;
constexpr int64_t kRows = 3000;

// Counts the rows that it reads, and may cancel a call at one of them.
class CountedRows : public RowReader {
 public:
  explicit CountedRows(const IvfRows& rows) : rows_(rows) {}

  absl::Status Read(absl::Span<const int64_t> rows, char* to) const override {
    if ((read_ += static_cast<int64_t>(rows.size())) >= cancel_at) cancellation->Cancel();
    return rows_.Read(rows, to);
  }
  VectorView view() const {
    VectorView view = rows_.view_on_disk();
    view.reader = this;
    return view;
  }
  int64_t read() const { return read_; }

  int64_t cancel_at = std::numeric_limits<int64_t>::max();
  std::shared_ptr<Cancellation> cancellation = std::make_shared<Cancellation>();

 private:
  const IvfRows& rows_;
  mutable std::atomic<int64_t> read_{0};
};

std::string FileOf(const std::string& directory, const bundle::v1::GenerationManifest& manifest) {
  auto bytes = ReadFile(JoinPath(directory, manifest.shards(0).index_files(0).path()));
  REQUIRE(bytes.ok());
  REQUIRE(static_cast<int64_t>(bytes->size()) == manifest.shards(0).index_files(0).byte_count());
  return *std::move(bytes);
}

std::string Built(const VectorView& rows, bundle::v1::GenerationManifest manifest, int threads) {
  const TempDir dir;
  ComputePool pool(threads);
  REQUIRE(BuildIvfShard(dir.path(), rows, &pool, &manifest).ok());
  return FileOf(dir.path(), manifest);
}

TEST_CASE("equal rows, specs and seeds give equal files, on any number of threads") {
  const IvfRows rows(ClusteredRows(kRows, kDimension, 1), kDimension);
  for (const std::string code : kCodes) {
    auto manifest = IvfManifest(kRows, kDimension, code, 50);
    const std::string one = Built(rows.view(), manifest, 1);
    REQUIRE(Built(rows.view(), manifest, 3) == one);
    REQUIRE(Built(rows.view_on_disk(), manifest, 2) == one);
    manifest.mutable_index_spec()->set_seed(12);
    REQUIRE(Built(rows.view(), manifest, 1) != one);
  }
}

TEST_CASE("a build that was killed anywhere goes on to the same file, and replaces what it left") {
  const IvfRows rows(ClusteredRows(kRows, kDimension, 2), kDimension);
  for (const std::string code : kCodes) {
    auto manifest = IvfManifest(kRows, kDimension, code, 50);
    const std::string whole = Built(rows.view_on_disk(), manifest, 1);
    const TempDir dir;
    ComputePool pool(1);
    int cancelled = 0;
    for (int64_t after = 1;; after += 1500) {
      CountedRows reader(rows);
      reader.cancel_at = after;
      const CallContext call(Clock::Real(), absl::InfiniteFuture(), reader.cancellation);
      const absl::Status status = BuildIvfShard(dir.path(), reader.view(), &pool, &manifest, call);
      if (status.ok()) break;
      REQUIRE(absl::IsCancelled(status));
      ++cancelled;
    }
    REQUIRE(cancelled >= 3);
    REQUIRE(FileOf(dir.path(), manifest) == whole);
  }
}

TEST_CASE("a build is not gone on with by a CPU that rounds in another way") {
  const IvfRows rows(ClusteredRows(kRows, kDimension, 1), kDimension);
  const auto manifest = IvfManifest(kRows, kDimension, "rows", 50);
  IndexBuild build;
  build.manifest = &manifest;
  build.vectors = rows.view();
  const auto fingerprint = [&](const kernels::CpuFeatures& features) {
    return *IvfFingerprint(build, *IvfShapeOf(manifest, 0), features);
  };
  kernels::CpuFeatures avx512;
  avx512.avx512 = true;
  kernels::CpuFeatures more = avx512;
  more.avx512_vnni = true;  // which no list follows from
  REQUIRE(fingerprint({}) != fingerprint(avx512));
  REQUIRE(fingerprint(more) == fingerprint(avx512));
}

TEST_CASE("what is done is not done again, but for another spec, other rows or a damaged stage") {
  const IvfRows rows(ClusteredRows(kRows, kDimension, 3), kDimension);
  const IvfRows others(ClusteredRows(kRows, kDimension, 4), kDimension);
  auto manifest = IvfManifest(kRows, kDimension, "rows", 50);
  const TempDir dir;
  ComputePool pool(1);
  const auto rows_read = [&](const IvfRows& stored) {
    const CountedRows reader(stored);
    REQUIRE(BuildIvfShard(dir.path(), reader.view(), &pool, &manifest).ok());
    return reader.read();
  };
  const int64_t anew = rows_read(rows);
  const int64_t again = rows_read(rows);
  REQUIRE(again < 100);  // those that tell the rows from others
  const std::string whole = FileOf(dir.path(), manifest);
  // What does not change the file does not matter.
  manifest.mutable_index_spec()->set_default_recall(0.9);
  REQUIRE(rows_read(rows) == again);

  REQUIRE(rows_read(others) == anew);
  REQUIRE(FileOf(dir.path(), manifest) != whole);
  manifest.mutable_index_spec()->mutable_ivf()->set_list_count(40);
  REQUIRE(rows_read(others) == anew);
  manifest.mutable_index_spec()->set_seed(5);
  REQUIRE(rows_read(others) == anew);

  for (const auto& entry : std::filesystem::directory_iterator(dir.path() + "/work")) {
    const std::string path = entry.path();
    CorruptInPlace(path, static_cast<int64_t>(entry.file_size()) - 1);
    const int64_t read = rows_read(others);
    REQUIRE(read > again);
    REQUIRE(read < anew);
  }
  REQUIRE(rows_read(others) == again);
}

TEST_CASE("rows are told as they are done, those of an earlier run too") {
  const IvfRows rows(ClusteredRows(kRows, kDimension, 6), kDimension);
  const auto manifest = IvfManifest(kRows, kDimension, "rabitq", 50);
  const TempDir dir;
  std::filesystem::create_directories(dir.path() + "/shards");
  ComputePool pool(2);
  FakeClock clock;
  const CallContext call = CallContext::Unbounded();
  for (int run = 0; run < 2; ++run) {
    std::string shown;
    Progress::Options options;
    options.terminal = true;
    options.write = [&](absl::string_view text) { shown += std::string(text); };
    Progress progress(options, &clock);
    progress.Begin("index", "rows", kRows);
    IndexBuild build;
    build.directory = dir.path();
    build.manifest = &manifest;
    build.vectors = rows.view();
    build.work_directory = dir.path();
    build.pool = &pool;
    build.call = &call;
    build.progress = &progress;
    REQUIRE(BuildIvf(build).ok());
    progress.End();
    REQUIRE_THAT(shown, Catch::Contains("3000/3000 rows"));
  }
}

TEST_CASE("a build says what is wrong: the shape, the disk") {
  const IvfRows rows(ClusteredRows(100, kDimension, 7), kDimension);
  const TempDir dir;
  ComputePool pool(1);
  auto manifest = IvfManifest(99, kDimension, "int8", 5);
  REQUIRE(absl::IsInvalidArgument(BuildIvfShard(dir.path(), rows.view(), &pool, &manifest)));
  manifest = IvfManifest(100, kDimension + 1, "int8", 5);
  REQUIRE(absl::IsInvalidArgument(BuildIvfShard(dir.path(), rows.view(), &pool, &manifest)));
  class Failing : public RowReader {
    absl::Status Read(absl::Span<const int64_t>, char*) const override {
      return absl::UnavailableError("the disk is gone");
    }
  };
  const Failing failing;
  VectorView view = rows.view_on_disk();
  view.reader = &failing;
  manifest = IvfManifest(100, kDimension, "int8", 5);
  REQUIRE(absl::IsUnavailable(BuildIvfShard(dir.path(), view, &pool, &manifest)));
}

}  // namespace
}  // namespace sightline
