#include "common/bundle/rows_on_disk.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "common/base/error_details.h"
#include "common/base/files.h"
#include "common/base/random_access_file.h"
#include "common/bundle/shard_vectors.h"
#include "common/bundle/shard_writer.h"
#include "tests/common/bundle/container_surgery.h"
#include "tests/common/bundle/items.h"
#include "tests/common/bundle/stored_embedding.h"
#include "tests/support/catch.h"
#include "tests/support/failing_reads.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

constexpr char kVectors[] = "shards/00000-of-00001.vectors";
constexpr int kItems = 3000;

// A shard, once more in memory, by which the rows on disk are judged.
struct Fixture {
  // Rows of 5 numbers have padding behind them, rows of 32 have none.
  explicit Fixture(Dtype dtype = Dtype::kFloat32, int dimension = kTestDimension) {
    std::vector<EncodedItem> items = MakeItems(kItems, /*with_features=*/false);
    std::mt19937 random(3);
    for (EncodedItem& item : items) {
      item.embedding.resize(static_cast<size_t>(dimension));
      for (float& number : item.embedding) number = static_cast<float>(random() % 1000) / 8;
    }
    manifest = *WriteShard(dir.path(), 0, 1, dimension, {}, items, dtype);
    expected = *ShardVectors::Open(path, manifest, dimension);
    REQUIRE(expected->Load(CallContext::Unbounded()).ok());
    vectors = *ShardVectors::Open(path, manifest, dimension);
    REQUIRE(vectors->Load(CallContext::Unbounded(), EmbeddingPlace::kDisk).ok());
    rows = vectors->rows_on_disk();
  }

  size_t row_bytes() const {
    return static_cast<size_t>(vectors->dimension()) * DtypeSize(vectors->dtype());
  }

  absl::StatusOr<std::string> Read(const std::vector<int64_t>& wanted) const {
    std::string bytes(wanted.size() * row_bytes(), '\0');
    const absl::Status status = rows->Read(wanted, &bytes[0]);
    if (!status.ok()) return status;
    return bytes;
  }

  std::string Expected(const std::vector<int64_t>& wanted) const {
    std::string bytes;
    for (const int64_t row : wanted) {
      const char* const from = static_cast<const char*>(expected->data()) +
                               row * expected->stride() * DtypeSize(expected->dtype());
      bytes.append(from, row_bytes());
    }
    return bytes;
  }

  TempDir dir;
  const std::string path = dir.File(kVectors);
  bundle::v1::ShardManifest manifest;
  std::unique_ptr<ShardVectors> expected, vectors;
  const RowReader* rows = nullptr;
};

std::vector<int64_t> AllRows() {
  std::vector<int64_t> rows;
  for (int64_t row = 0; row < kItems; ++row) rows.push_back(row);
  return rows;
}

TEST_CASE("rows on a disk are those in memory, however many are asked for, in any order") {
  const Dtype dtype = GENERATE(Dtype::kFloat32, Dtype::kFloat16);
  const int dimension = GENERATE(5, 32);
  const Fixture f(dtype, dimension);
  std::vector<int64_t> shuffled = AllRows();
  std::shuffle(shuffled.begin(), shuffled.end(), std::mt19937(1));
  std::vector<int64_t> some;
  for (const int64_t row : AllRows()) {
    if (row % 7 < 3) some.push_back(row);
  }
  for (const std::vector<int64_t>& wanted :
       {std::vector<int64_t>{}, {0}, {kItems - 1}, {5, 5, 6, 6, 4}, AllRows(), shuffled, some}) {
    const auto read = f.Read(wanted);
    REQUIRE(read.ok());
    REQUIRE(*read == f.Expected(wanted));
  }
}

TEST_CASE("rows that the system has let go of are read again") {
  const Fixture f;
  const std::vector<int64_t> wanted = {1, 2, 3, 900, 2999};
  (*RandomAccessFile::Open(f.path))->DropFromCache(0, f.manifest.vectors().byte_count());
  CHECK(*f.Read(wanted) == f.Expected(wanted));
  CHECK(*f.Read(wanted) == f.Expected(wanted));
}

TEST_CASE("records are in memory all the same, and embeddings take four bytes an item") {
  const Fixture f(Dtype::kFloat16);
  CHECK(f.vectors->data() == nullptr);
  CHECK(f.vectors->row_bytes_in_memory() == 4 * kItems);
  CHECK(RowsOnDisk::ByteCount(kItems) == 4 * kItems);
  CHECK(f.expected->row_bytes_in_memory() == 64 * kItems);
  CHECK(f.vectors->record_bytes_in_memory() == f.expected->record_bytes_in_memory());
  const FailingReads failing({f.path, EIO});
  for (const int64_t row : {0, 17, kItems - 1}) {
    CHECK(f.vectors->Record(row)->item_id == f.expected->Record(row)->item_id);
    CHECK(f.vectors->Record(row)->tags == f.expected->Record(row)->tags);
  }
}

TEST_CASE("single embeddings are read and widened") {
  const Fixture f(GENERATE(Dtype::kFloat32, Dtype::kFloat16));
  for (const int64_t row : {0, 1, 1234, kItems - 1}) {
    CHECK(StoredEmbedding(*f.vectors, row) == StoredEmbedding(*f.expected, row));
  }
}

TEST_CASE("loading looks at each embedding, and verifying reads none of them again") {
  const Fixture f;
  const FailingReads counting({f.path, 0, INT_MAX});
  REQUIRE(f.vectors->Verify(0, 1, CallContext::Unbounded()).ok());
  const int64_t embedding_bytes = int64_t{64} * kItems;
  // What lies between sections, and no more.
  CHECK(counting.reads() < embedding_bytes / (int64_t{1} << 20) + 20);
}

TEST_CASE("a load is given up when its call is") {
  const Fixture f;
  const auto vectors = *ShardVectors::Open(f.path, f.manifest, kTestDimension);
  const CallContext call = CallContext::Unbounded();
  call.cancellation()->Cancel();
  CHECK(absl::IsCancelled(vectors->Load(call, EmbeddingPlace::kDisk)));
}

TEST_CASE("damage is found when the shard is loaded") {
  const Fixture f;
  std::string bytes = *ReadFile(f.path);
  bytes[RepairChecksums(&bytes, "embeddings").offset + 64 * 1500] ^= 1;
  Overwrite(f.path, bytes);
  const auto vectors = *ShardVectors::Open(f.path, f.manifest, kTestDimension);
  CHECK(HasReason(vectors->Load(CallContext::Unbounded(), EmbeddingPlace::kDisk),
                  reasons::kChecksumMismatch));
}

TEST_CASE("damage that comes later is an error of that row, and no wrong score") {
  const Fixture f;
  std::string bytes = *ReadFile(f.path);
  const size_t at = RepairChecksums(&bytes, "embeddings").offset + 64 * 1500 + 19;
  CorruptInPlace(f.path, static_cast<int64_t>(at));
  for (const std::vector<int64_t>& wanted : {std::vector<int64_t>{1500}, AllRows()}) {
    const absl::Status status = f.Read(wanted).status();
    INFO(status);
    CHECK(absl::IsDataLoss(status));
    CHECK(HasReason(status, reasons::kChecksumMismatch));
    CHECK_THAT(std::string(status.message()),
               Catch::Contains(f.path) && Catch::Contains("item 1500"));
  }
  CHECK(*f.Read({1499, 1501}) == f.Expected({1499, 1501}));
}

TEST_CASE("what is read wrongly once is read again") {
  const Fixture f;
  const FailingReads failing({f.path, kFlippedOnce});
  CHECK(*f.Read({7}) == f.Expected({7}));
}

TEST_CASE("a read that fails is no damage") {
  const Fixture f;
  const FailingReads failing({f.path, GENERATE(EIO, kShortRead)});
  for (const std::vector<int64_t>& wanted : {std::vector<int64_t>{3}, {4, 5, 6, 1000}}) {
    const absl::Status status = f.Read(wanted).status();
    INFO(status);
    CHECK(absl::IsUnavailable(status));
    CHECK(HasReason(status, reasons::kReadFailed));
  }
}

TEST_CASE("many threads read at once") {
  const Fixture f(Dtype::kFloat16);
  std::vector<std::thread> threads;
  std::vector<int> wrong(4, 0);
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(static_cast<unsigned>(t));
      for (int round = 0; round < 50; ++round) {
        std::vector<int64_t> wanted;
        for (int i = 0; i < 30; ++i) wanted.push_back(random() % kItems);
        const auto read = f.Read(wanted);
        if (!read.ok() || *read != f.Expected(wanted)) ++wrong[t];
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == std::vector<int>(4, 0));
}

TEST_CASE("a shard of nothing has no rows to read") {
  TempDir dir;
  const auto manifest = *WriteShard(dir.path(), 0, 1, kTestDimension, {}, {}, Dtype::kFloat16);
  const auto vectors = *ShardVectors::Open(dir.File(kVectors), manifest, kTestDimension);
  REQUIRE(vectors->Load(CallContext::Unbounded(), EmbeddingPlace::kDisk).ok());
  CHECK(vectors->rows_on_disk()->Read({}, nullptr).ok());
  CHECK(vectors->Verify(0, 1, CallContext::Unbounded()).ok());
}

}  // namespace
}  // namespace sightline
