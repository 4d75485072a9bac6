// VectorsReader and FeatureReader, judged by ShardVectors and FeatureStore.
#include <algorithm>
#include <climits>
#include <random>
#include <string>
#include <vector>

#include "common/base/error_details.h"
#include "common/base/random_access_file.h"
#include "common/bundle/feature_reader.h"
#include "common/bundle/feature_store.h"
#include "common/bundle/generation.h"
#include "common/bundle/shard_vectors.h"
#include "common/bundle/vectors_reader.h"
#include "tests/common/bundle/container_surgery.h"
#include "tests/common/bundle/items.h"
#include "tests/common/bundle/stored_embedding.h"
#include "tests/support/catch.h"
#include "tests/support/failing_reads.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

constexpr int kItems = 1000;  // sixteen pieces of embeddings
constexpr int64_t kPiece = 4096;

// A generation of one shard, read in pieces that hold little of it.
struct Fixture {
  Fixture()
      : manifest(*WriteTestGeneration(store.path(), "g1", kItems, 1)),
        directory(GenerationDirectory(store.path(), "images", "g1")),
        vectors_path(JoinPath(directory, manifest.shards(0).vectors().path())),
        features_path(JoinPath(directory, manifest.shards(0).features().path())),
        vectors(*VectorsFile::Open(vectors_path, manifest.shards(0), kTestDimension)),
        features(*FeatureFile::Open(features_path, manifest.shards(0))),
        expected(*ShardVectors::Open(vectors_path, manifest.shards(0), kTestDimension)),
        expected_features(*FeatureStore::Open(features_path, manifest.shards(0))) {
    REQUIRE(expected->Load(CallContext::Unbounded()).ok());
  }

  std::vector<std::string> Ids() const {
    std::vector<std::string> ids;
    for (int64_t row = 0; row < kItems; ++row) ids.emplace_back(expected->item_id(row));
    return ids;
  }

  const TempDir store;
  const bundle::v1::GenerationManifest manifest;
  const std::string directory, vectors_path, features_path;
  const std::unique_ptr<VectorsFile> vectors;
  const std::unique_ptr<FeatureFile> features;
  const std::unique_ptr<ShardVectors> expected;
  const std::unique_ptr<FeatureStore> expected_features;
};

TEST_CASE_METHOD(Fixture, "items are found in order, backwards and in any order") {
  std::vector<std::string> ids = Ids();
  // What is not there lies between, before and behind.
  for (int64_t i = 0; i < kItems; i += 7) ids.push_back(ids[static_cast<size_t>(i)] + "!");
  ids.insert(ids.end(), {"", "a", "zz"});
  std::sort(ids.begin(), ids.end());
  VectorsReader reader(*vectors, kPiece);
  const auto look_up_all = [&] {
    for (const std::string& id : ids) {
      CAPTURE(id);
      REQUIRE(*reader.Find(id) == expected->Find(id));
    }
  };
  look_up_all();
  std::reverse(ids.begin(), ids.end());
  look_up_all();
  std::shuffle(ids.begin(), ids.end(), std::mt19937(5));
  look_up_all();
}

TEST_CASE("a shard without items has none") {
  TempDir store;
  const auto manifest = WriteTestGeneration(store.path(), "g1", 0, 1);
  const std::string directory = GenerationDirectory(store.path(), "images", "g1");
  const auto file = VectorsFile::Open(JoinPath(directory, manifest->shards(0).vectors().path()),
                                      manifest->shards(0), kTestDimension);
  REQUIRE(file.ok());
  REQUIRE(*VectorsReader(**file).Find("item/1") == -1);
}

std::string BytesOf(const ItemFeatures& item) {
  std::string bytes;
  for (const FeatureTensor& tensor : item.tensors) bytes += tensor.name + tensor.bytes;
  return bytes;
}

TEST_CASE_METHOD(Fixture, "rows have the embeddings and features that they were written with") {
  VectorsReader reader(*vectors, kPiece);
  FeatureReader feature_reader(*features, kPiece);
  std::vector<int64_t> rows;
  for (int64_t row = 0; row < kItems; ++row) rows.push_back(row);
  for (const bool in_order : {true, false}) {
    if (!in_order) std::shuffle(rows.begin(), rows.end(), std::mt19937(7));
    for (const int64_t row : rows) {
      std::vector<float> embedding(kTestDimension);
      REQUIRE(reader.Embedding(row, absl::MakeSpan(embedding)).ok());
      REQUIRE(embedding == StoredEmbedding(*expected, row));
      const auto item = feature_reader.Get(TestReranker(), row);
      REQUIRE(item.ok());
      REQUIRE(BytesOf(*item) == BytesOf(expected_features->Get(TestReranker(), {row})->front()));
    }
  }
  REQUIRE(absl::IsNotFound(feature_reader.Get(std::string(64, 'f'), 0).status()));
  REQUIRE(absl::IsOutOfRange(feature_reader.Get(TestReranker(), kItems).status()));
}

TEST_CASE_METHOD(Fixture, "in order, each piece is read once") {
  VectorsReader reader(*vectors, kPiece);
  const FailingReads counting({vectors_path, 0, INT_MAX});
  std::vector<float> embedding(kTestDimension);
  for (int64_t row = 0; row < kItems; ++row) {
    REQUIRE(reader.Embedding(row, absl::MakeSpan(embedding)).ok());
  }
  REQUIRE(counting.reads() == (64 * kItems + kPiece - 1) / kPiece);
}

TEST_CASE_METHOD(Fixture, "what is damaged after it was verified is found when it is read") {
  REQUIRE(VerifyVectors(*vectors, LoadedVectors(), 0, 1, CallContext::Unbounded()).ok());
  const auto damaged = [&](const absl::Status& status, const std::string& path) {
    INFO(status);
    REQUIRE(absl::IsDataLoss(status));
    REQUIRE(HasReason(status, reasons::kChecksumMismatch));
    REQUIRE_THAT(std::string(status.message()), Catch::Contains(path));
  };
  VectorsReader reader(*vectors, kPiece);
  std::vector<float> embedding(kTestDimension);
  for (const char* section : {"embeddings", "item_id", "item_id/offsets"}) {
    CAPTURE(section);
    CorruptInPlace(vectors_path, vectors->container().Find(section)->offset + 3);
  }
  damaged(reader.Embedding(0, absl::MakeSpan(embedding)), vectors_path);
  damaged(reader.Find("item/1").status(), vectors_path);
  FeatureReader feature_reader(*features, kPiece);
  const std::string checksums = ItemChecksumsSection(TestReranker());
  CorruptInPlace(features_path, features->container().Find(checksums)->offset + 3);
  damaged(feature_reader.Get(TestReranker(), 0).status(), features_path);
}

TEST_CASE_METHOD(Fixture, "what cannot be read is an error, not an item that is not there") {
  VectorsReader reader(*vectors, kPiece);
  REQUIRE(*reader.Find("item/7") >= 0);
  const FailingReads failing({vectors_path, EIO});
  REQUIRE(IsFailedRead(reader.Find("a").status()));
}

}  // namespace
}  // namespace sightline
