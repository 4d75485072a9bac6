#include "common/bundle/shard_source.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "common/base/files.h"
#include "common/bundle/vectors_file.h"
#include "common/bundle/vectors_reader.h"
#include "tests/common/bundle/items.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

constexpr char kVectors[] = "shards/00000-of-00001.vectors";
constexpr char kFeatures[] = "shards/00000-of-00001.features";

// Makes one item at a time, and forgets it at the next call.
class OneAtATime : public ShardSource {
 public:
  explicit OneAtATime(std::vector<EncodedItem> items) : items_(std::move(items)) {
    std::sort(items_.begin(), items_.end(),
              [](const auto& a, const auto& b) { return a.record.item_id < b.record.item_id; });
  }
  int64_t size() const override { return static_cast<int64_t>(items_.size()); }
  absl::StatusOr<const ItemRecord*> Record(int64_t i) override {
    record_ = items_[i].record;
    return &record_;
  }
  absl::StatusOr<absl::Span<const float>> Embedding(int64_t i) override {
    if (i == fails_at) return absl::CancelledError("enough");
    embedding_ = items_[i].embedding;
    return absl::MakeConstSpan(embedding_);
  }
  absl::StatusOr<const ItemFeatures*> Features(int64_t i, int reranker) override {
    features_ = items_[i].features[reranker];
    return &features_;
  }

  absl::string_view ContentHash(int64_t i) override {
    hash_ = hashed ? std::string(kContentHashBytes, static_cast<char>('a' + i)) : "";
    if (i == bad_hash_at) hash_.pop_back();
    return hash_;
  }

  int64_t fails_at = -1;
  bool hashed = false;
  int64_t bad_hash_at = -1;

  std::vector<EncodedItem>& items() { return items_; }

 private:
  std::vector<EncodedItem> items_;
  ItemRecord record_;
  std::vector<float> embedding_;
  ItemFeatures features_;
  std::string hash_;
};

absl::StatusOr<bundle::v1::ShardManifest> Write(const TempDir& dir, ShardSource& source) {
  return WriteShardFrom(dir.path(), 0, 1, kTestDimension, {TestReranker()}, source);
}

TEST_CASE("a shard out of a source has the bytes of one out of memory") {
  TempDir streamed, whole;
  OneAtATime source(MakeItems(30));
  const auto manifest = Write(streamed, source);
  REQUIRE(manifest.ok());
  const auto expected =
      WriteShard(whole.path(), 0, 1, kTestDimension, {TestReranker()}, MakeItems(30));
  REQUIRE(expected.ok());
  REQUIRE(manifest->SerializeAsString() == expected->SerializeAsString());
  for (const char* name : {kVectors, kFeatures}) {
    REQUIRE(*ReadFile(streamed.File(name)) == *ReadFile(whole.File(name)));
  }
}

TEST_CASE("content hashes are a column that readers find, or that is not there") {
  TempDir plain, dir;
  OneAtATime source(MakeItems(20));
  const auto without = Write(plain, source);
  REQUIRE(without.ok());
  REQUIRE((*VectorsFile::Open(plain.File(kVectors), *without, kTestDimension))->content_hashes() ==
          nullptr);
  source.hashed = true;
  const auto manifest = Write(dir, source);
  REQUIRE(manifest.ok());
  const auto file = VectorsFile::Open(dir.File(kVectors), *manifest, kTestDimension);
  REQUIRE(file.ok());
  REQUIRE((*file)->container().Verify().ok());
  VectorsReader reader(**file);
  REQUIRE(*reader.ContentHash(0) == std::string(kContentHashBytes, 'a'));
  REQUIRE(*reader.ContentHash(19) == std::string(kContentHashBytes, 'a' + 19));

  source.bad_hash_at = 5;
  const absl::Status status = Write(dir, source).status();
  REQUIRE(absl::IsInvalidArgument(status));
  REQUIRE_THAT(std::string(status.message()), Catch::Contains("content hash has 31 bytes"));
}

TEST_CASE("items that come out of order are refused by name") {
  TempDir dir;
  OneAtATime source(MakeItems(30));
  std::swap(source.items()[3], source.items()[4]);
  const absl::Status status = Write(dir, source).status();
  REQUIRE(absl::IsInvalidArgument(status));
  REQUIRE(std::string(status.message()).find("comes after a greater id") != std::string::npos);
  REQUIRE(ListDirectory(dir.path())->empty());
}

TEST_CASE("a bad embedding and an error of the source leave no file") {
  TempDir dir;
  OneAtATime bad(MakeItems(30));
  bad.items()[20].embedding.pop_back();
  REQUIRE(absl::IsInvalidArgument(Write(dir, bad).status()));
  OneAtATime failing(MakeItems(30));
  failing.fails_at = 20;
  REQUIRE(absl::IsCancelled(Write(dir, failing).status()));
  REQUIRE(ListFilesBelow(dir.path())->empty());
}

}  // namespace
}  // namespace sightline
