// What every kind of index that is built promises of building (index_kind.h).
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/common/index/kind_harness.h"
#include "tests/support/catch.h"
#include "tests/support/fake_clock.h"

namespace sightline {
namespace {

constexpr int64_t kRows = 2000;
constexpr int kDimension = 32;

void ForEachBuiltKind(const std::function<void(const KindCase&, const GappedRows&)>& test) {
  const EmbeddingMatrix values = ClusteredRows(kRows, kDimension, 1);
  for (const Dtype dtype : {Dtype::kFloat32, Dtype::kFloat16}) {
    const GappedRows rows(values, dtype);
    for (const KindCase& kind_case : KindCases()) {
      if (KindShard(kind_case, rows.view()).kind().build == nullptr) continue;
      INFO(kind_case.name << ", " << DtypeName(dtype));
      test(kind_case, rows);
    }
  }
}

std::vector<std::string> FilesOf(const KindCase& kind_case, const VectorView& rows, int threads) {
  ComputePool pool(threads);
  KindShard shard(kind_case, rows);
  const absl::Status built = shard.Build(&pool);
  INFO(built.ToString());
  REQUIRE(built.ok());
  const auto contents = shard.Contents();
  REQUIRE(!contents.empty());
  const auto& files = shard.manifest().shards(0).index_files();
  for (size_t i = 0; i < contents.size(); ++i) {
    REQUIRE(files[static_cast<int>(i)].byte_count() == contents[i].size());
    REQUIRE(files[static_cast<int>(i)].sha256().size() == 64);
  }
  return contents;
}

TEST_CASE("equal rows give equal files, on any number of threads, in memory or on a disk") {
  ForEachBuiltKind([](const KindCase& kind_case, const GappedRows& rows) {
    const auto files = FilesOf(kind_case, rows.view(), 1);
    for (const int threads : {1, 2, 3}) REQUIRE(FilesOf(kind_case, rows.view(), threads) == files);
    const MemoryReader reader(rows.view());
    if (KindShard(kind_case, reader.view()).Fits()) {
      REQUIRE(FilesOf(kind_case, reader.view(), 2) == files);
    }
  });
}

// Cancels a call when it is looked at for the n-th time.
class CancellingClock : public FakeClock {
 public:
  explicit CancellingClock(int looks) : looks_left_(looks) {}

  absl::Time Now() override {
    if (--looks_left_ == 0) cancellation->Cancel();
    return absl::UnixEpoch();
  }

  const std::shared_ptr<Cancellation> cancellation = std::make_shared<Cancellation>();

 private:
  std::atomic<int> looks_left_;
};

TEST_CASE("a build that is ended early goes on, and leaves what one does that was not") {
  ForEachBuiltKind([](const KindCase& kind_case, const GappedRows& rows) {
    const auto files = FilesOf(kind_case, rows.view(), 2);
    ComputePool pool(2);
    KindShard shard(kind_case, rows.view());
    // Each run comes further than the one before.
    int ended = 0;
    for (int looks = 1;; looks = 2 * looks) {
      CancellingClock clock(looks);
      const CallContext call(&clock, absl::InfiniteFuture(), clock.cancellation);
      const absl::Status built = shard.Build(&pool, call);
      if (built.ok()) break;
      INFO(built.ToString());
      REQUIRE(absl::IsCancelled(built));
      ++ended;
      REQUIRE(looks < 1 << 20);
    }
    REQUIRE(ended > 0);
    REQUIRE(shard.Contents() == files);
  });
}

TEST_CASE("rows that cannot be read fail the build, and what is left does no harm") {
  ForEachBuiltKind([](const KindCase& kind_case, const GappedRows& rows) {
    MemoryReader reader(rows.view());
    KindShard shard(kind_case, reader.view());
    if (!shard.Fits()) return;
    ComputePool pool(2);
    for (const int calls : {0, 1}) {
      reader.FailAfter(calls);
      const absl::Status built = shard.Build(&pool);
      // The rows of so small a shard may be read by a single call.
      REQUIRE((absl::IsUnavailable(built) || (calls > 0 && built.ok())));
    }
    reader.FailAfter(-1);
    REQUIRE(shard.Build(&pool).ok());
    REQUIRE(shard.Contents() == FilesOf(kind_case, rows.view(), 2));
  });
}

TEST_CASE("an index takes the memory that its kind has told before") {
  const EmbeddingMatrix values = ClusteredRows(kRows, kDimension, 2);
  ComputePool pool(2);
  for (const Dtype dtype : {Dtype::kFloat32, Dtype::kFloat16}) {
    const GappedRows rows(values, dtype);
    for (const KindCase& kind_case : KindCases()) {
      INFO(kind_case.name);
      KindShard shard(kind_case, rows.view());
      REQUIRE(shard.Build(&pool).ok());
      const auto index = shard.Open(&pool);
      REQUIRE(index.ok());
      const int64_t told = shard.kind().footprint(shard.manifest(), 0);
      const int64_t taken = (*index)->byte_count();
      INFO(told << " bytes told, " << taken << " taken");
      REQUIRE(std::abs(told - taken) <= taken / 20);
    }
  }
}

}  // namespace
}  // namespace sightline
