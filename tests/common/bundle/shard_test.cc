// The writer of shards and the two readers, ShardVectors and FeatureStore.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "common/base/files.h"
#include "common/bundle/feature_store.h"
#include "common/bundle/shard_vectors.h"
#include "common/bundle/shard_writer.h"
#include "tests/common/bundle/container_surgery.h"
#include "tests/common/bundle/items.h"
#include "tests/common/bundle/stored_embedding.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

using bundle::v1::ShardManifest;

constexpr int kItems = 23;
constexpr char kVectors[] = "shards/00000-of-00001.vectors";
constexpr char kFeatures[] = "shards/00000-of-00001.features";

ShardManifest Write(const TempDir& dir, std::vector<EncodedItem> items) {
  const auto manifest = WriteShard(dir.path(), 0, 1, kTestDimension, {TestReranker()}, items);
  INFO(manifest.status());
  REQUIRE(manifest.ok());
  return *manifest;
}

std::vector<EncodedItem> Sorted(std::vector<EncodedItem> items) {
  std::sort(items.begin(), items.end(),
            [](const auto& a, const auto& b) { return a.record.item_id < b.record.item_id; });
  return items;
}

TEST_CASE("a shard is read as it was written, in the order of ids") {
  TempDir dir;
  const ShardManifest manifest = Write(dir, MakeItems(kItems));
  REQUIRE(manifest.item_count() == kItems);
  REQUIRE(manifest.vectors().path() == kVectors);
  REQUIRE(manifest.features().path() == kFeatures);
  REQUIRE(manifest.vectors().byte_count() == *FileSize(dir.File(kVectors)));
  REQUIRE(manifest.vectors().sha256() == *Sha256HexOfFile(dir.File(kVectors)));
  REQUIRE(manifest.features().sha256() == *Sha256HexOfFile(dir.File(kFeatures)));

  const auto vectors = *ShardVectors::Open(dir.File(kVectors), manifest, kTestDimension);
  REQUIRE(vectors->Load(CallContext::Unbounded()).ok());
  REQUIRE(vectors->size() == kItems);
  REQUIRE(vectors->dimension() == kTestDimension);
  REQUIRE(vectors->stride() == 16);
  REQUIRE(reinterpret_cast<uintptr_t>(vectors->data()) % 64 == 0);
  const std::vector<EncodedItem> items = Sorted(MakeItems(kItems));
  for (int64_t row = 0; row < kItems; ++row) {
    const EncodedItem& item = items[row];
    REQUIRE(vectors->item_id(row) == item.record.item_id);
    REQUIRE(vectors->Find(item.record.item_id) == row);
    REQUIRE(StoredEmbedding(*vectors, row) == item.embedding);
    const ItemRecord record = *vectors->Record(row);
    REQUIRE(record.item_id == item.record.item_id);
    REQUIRE(record.caption == item.record.caption);
    REQUIRE(record.uri == item.record.uri);
    REQUIRE(record.tags == item.record.tags);
  }
  REQUIRE(vectors->Verify(0, 1, CallContext::Unbounded()).ok());
}

TEST_CASE("rows and ids that are not there are no rows and no ids") {
  TempDir dir;
  const ShardManifest manifest = Write(dir, MakeItems(kItems));
  const auto vectors = *ShardVectors::Open(dir.File(kVectors), manifest, kTestDimension);
  for (const int64_t row : {int64_t{-1}, int64_t{kItems}, INT64_MAX, INT64_MIN}) {
    REQUIRE(absl::IsOutOfRange(vectors->Record(row).status()));
    REQUIRE(vectors->item_id(row).empty());
  }
  for (const char* id : {"", "item", "item/", "item/1x", "item/999", "zebra"}) {
    CAPTURE(id);
    REQUIRE(vectors->Find(id) == -1);
  }
}

TEST_CASE("features are read as they were written, any rows in any order") {
  TempDir dir;
  const ShardManifest manifest = Write(dir, MakeItems(kItems));
  const auto store = *FeatureStore::Open(dir.File(kFeatures), manifest);
  REQUIRE(store->size() == kItems);
  REQUIRE(store->models() == std::vector<std::string>{TestReranker()});
  REQUIRE(store->Verify(CallContext::Unbounded()).ok());
  const std::vector<EncodedItem> items = Sorted(MakeItems(kItems));
  std::vector<int64_t> rows = {3, 3, 0};
  for (int64_t row = kItems - 1; row >= 0; --row) rows.push_back(row);
  const auto features = *store->Get(TestReranker(), rows);
  REQUIRE(features.size() == rows.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    const std::vector<FeatureTensor>& expected = items[rows[i]].features[0].tensors;
    REQUIRE(features[i].tensors.size() == expected.size());
    for (size_t k = 0; k < expected.size(); ++k) {
      const FeatureTensor& tensor = features[i].tensors[k];
      REQUIRE(tensor.name == expected[k].name);
      REQUIRE(tensor.dtype == expected[k].dtype);
      REQUIRE(tensor.rows == expected[k].rows);
      REQUIRE(tensor.columns == expected[k].columns);
      REQUIRE(tensor.bytes == expected[k].bytes);
    }
  }
  REQUIRE(store->Get(TestReranker(), {})->empty());
  REQUIRE(absl::IsNotFound(store->Get(Sha256Hex("other"), {0}).status()));
  REQUIRE(absl::IsNotFound(store->Get("", {0}).status()));
  REQUIRE(absl::IsOutOfRange(store->Get(TestReranker(), {0, kItems}).status()));
  REQUIRE(absl::IsOutOfRange(store->Get(TestReranker(), {-1}).status()));
}

TEST_CASE("equal items give equal files, in whatever order they come") {
  TempDir first;
  TempDir second;
  std::vector<EncodedItem> items = MakeItems(kItems);
  const ShardManifest manifest = Write(first, items);
  std::shuffle(items.begin(), items.end(), std::mt19937(4));
  const ShardManifest again = Write(second, items);
  REQUIRE(manifest.SerializeAsString() == again.SerializeAsString());
  REQUIRE(*ReadFile(first.File(kVectors)) == *ReadFile(second.File(kVectors)));
  REQUIRE(*ReadFile(first.File(kFeatures)) == *ReadFile(second.File(kFeatures)));
}

TEST_CASE("a shard may be empty") {
  TempDir dir;
  const ShardManifest manifest = Write(dir, {});
  const auto vectors = *ShardVectors::Open(dir.File(kVectors), manifest, kTestDimension);
  REQUIRE(vectors->size() == 0);
  REQUIRE(vectors->Find("x") == -1);
  REQUIRE(vectors->Verify(0, 1, CallContext::Unbounded()).ok());
  const auto store = *FeatureStore::Open(dir.File(kFeatures), manifest);
  REQUIRE(store->models() == std::vector<std::string>{TestReranker()});
  REQUIRE(store->Get(TestReranker(), {})->empty());
}

TEST_CASE("without a reranker there is no features file") {
  TempDir dir;
  const auto manifest = WriteShard(dir.path(), 0, 1, kTestDimension, {}, MakeItems(3, false));
  REQUIRE(manifest.ok());
  REQUIRE_FALSE(manifest->has_features());
  REQUIRE_FALSE(FileExists(dir.File(kFeatures)));
  REQUIRE(absl::IsDataLoss(FeatureStore::Open(dir.File(kVectors), *manifest).status()));
}

TEST_CASE("a shard holds the features of several rerankers, each found by its model") {
  TempDir dir;
  const std::string other = Sha256Hex("other");
  std::vector<EncodedItem> items = Sorted(MakeItems(kItems));
  for (size_t i = 0; i < items.size(); ++i) {
    items[i].features.push_back({{MakeTensor("rows", Dtype::kInt8, 1 + i % 3, 5, 'o')}});
  }
  const auto manifest =
      WriteShard(dir.path(), 0, 1, kTestDimension, {TestReranker(), other}, items);
  REQUIRE(manifest.ok());
  const auto store = FeatureStore::Open(dir.File(kFeatures), *manifest);
  REQUIRE(store.ok());
  REQUIRE((*store)->Verify(CallContext::Unbounded()).ok());
  REQUIRE((*store)->models() == std::vector<std::string>{TestReranker(), other});
  for (int64_t row = 0; row < kItems; ++row) {
    const auto first = (*store)->Get(TestReranker(), {row});
    const auto second = (*store)->Get(other, {row});
    REQUIRE(first.ok());
    REQUIRE(second.ok());
    REQUIRE((*first)[0].tensors.size() == 2);
    REQUIRE((*first)[0].tensors[0].bytes == items[row].features[0].tensors[0].bytes);
    REQUIRE((*second)[0].tensors.size() == 1);
    REQUIRE((*second)[0].tensors[0].rows == 1 + row % 3);
    REQUIRE((*second)[0].tensors[0].bytes == items[row].features[1].tensors[0].bytes);
  }
}

TEST_CASE("items that cannot be stored are refused by name, and nothing is written") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<std::pair<std::string, std::function<void(std::vector<EncodedItem>&)>>>
      changes = {
          {"two of this id", [](auto& v) { v[1].record.item_id = v[2].record.item_id; }},
          {"1 to 1024 bytes", [](auto& v) { v[1].record.item_id = ""; }},
          {"1 to 1024 bytes", [](auto& v) { v[1].record.item_id = std::string(1025, 'x'); }},
          {"not UTF-8", [](auto& v) { v[1].record.item_id = "\xff"; }},
          {"not UTF-8", [](auto& v) { v[1].record.caption = "\xc0\x80"; }},
          {"not UTF-8", [](auto& v) { v[1].record.uri = "\xe2\x82"; }},
          {"not UTF-8",
           [](auto& v) {
             v[1].record.tags = {"ok", "\x80"};
           }},
          {"at most 1048576", [](auto& v) { v[1].record.caption = std::string(1048577, 'x'); }},
          {"at most 1048576", [](auto& v) { v[1].record.tags = std::vector<std::string>(262145); }},
          {"4 numbers, not 5", [](auto& v) { v[1].embedding.pop_back(); }},
          {"not finite", [&](auto& v) { v[1].embedding[2] = nan; }},
          {"not finite", [](auto& v) { v[1].embedding[4] = -INFINITY; }},
          {"1 feature tensors", [](auto& v) { v[1].features[0].tensors.pop_back(); }},
          {"differs", [](auto& v) { v[1].features[0].tensors[0].name = "other"; }},
          {"differs",
           [](auto& v) {
             v[1].features[0].tensors[0] = MakeTensor("regions", Dtype::kFloat32, 1, 7, 'x');
           }},
          {"differs",
           [](auto& v) {
             v[1].features[0].tensors[0] = MakeTensor("regions", Dtype::kFloat16, 1, 8, 'x');
           }},
          {"malformed", [](auto& v) { v[1].features[0].tensors[0].bytes += "x"; }},
          {"malformed", [](auto& v) { v[1].features[0].tensors[0].rows = -1; }},
          {"malformed", [](auto& v) { v[1].features[0].tensors[0].rows = INT64_MAX; }},
          {"malformed", [](auto& v) { v[1].features[0].tensors[0].dtype = static_cast<Dtype>(9); }},
          {"at most 16777216",
           [](auto& v) {
             v[1].features[0].tensors[0] =
                 MakeTensor("regions", Dtype::kFloat16, 1'200'000, 7, 'x');
           }},
          {"malformed",
           [](auto& v) {
             for (auto& item : v) item.features[0].tensors[0].name = "a/b";
           }},
          {"two features named",
           [](auto& v) {
             for (auto& item : v) item.features[0].tensors[1] = item.features[0].tensors[0];
           }},
      };
  for (const auto& [problem, change] : changes) {
    TempDir dir;
    std::vector<EncodedItem> items = MakeItems(kItems);
    change(items);
    const auto status =
        WriteShard(dir.path(), 0, 1, kTestDimension, {TestReranker()}, items).status();
    CAPTURE(problem, std::string(status.message()));
    REQUIRE(absl::IsInvalidArgument(status));
    REQUIRE(std::string(status.message()).find(problem) != std::string::npos);
    REQUIRE(ListDirectory(dir.path())->empty());
  }
}

TEST_CASE("shards that cannot be are refused") {
  TempDir dir;
  const auto refused = [&](int shard, int count, int dimension,
                           const std::vector<std::string>& models, std::vector<EncodedItem> items) {
    return absl::IsInvalidArgument(
        WriteShard(dir.path(), shard, count, dimension, models, std::move(items)).status());
  };
  REQUIRE(refused(0, 0, 5, {}, {}));
  REQUIRE(refused(-1, 1, 5, {}, {}));
  REQUIRE(refused(1, 1, 5, {}, {}));
  REQUIRE(refused(0, 1'000'000, 5, {}, {}));
  REQUIRE(refused(0, 1, 0, {}, {}));
  REQUIRE(refused(0, 1, 4097, {}, {}));
  REQUIRE(refused(0, 1, 5, {"../model"}, {}));
  REQUIRE(refused(0, 1, kTestDimension, {}, MakeItems(1)));  // features of nobody
  REQUIRE(refused(0, 1, kTestDimension, {TestReranker(), Sha256Hex("b")}, MakeItems(1)));
  REQUIRE(refused(0, 1, 5, {TestReranker(), TestReranker()}, {}));
  std::vector<std::string> nine;
  for (int i = 0; i < 9; ++i) nine.push_back(Sha256Hex(std::to_string(i)));
  REQUIRE(refused(0, 1, 5, nine, {}));
  const int stranger = 1 - ShardOf("item/0", 2);
  REQUIRE(refused(stranger, 2, kTestDimension, {TestReranker()}, MakeItems(1)));
}

TEST_CASE("a file that is not what the manifest says is refused") {
  TempDir dir;
  const ShardManifest manifest = Write(dir, MakeItems(kItems));
  const auto refused = [&](const ShardManifest& shard, int dimension) {
    return absl::IsDataLoss(ShardVectors::Open(dir.File(kVectors), shard, dimension).status());
  };
  REQUIRE_FALSE(refused(manifest, kTestDimension));
  REQUIRE(refused(manifest, kTestDimension + 1));
  ShardManifest other = manifest;
  other.set_item_count(kItems + 1);
  REQUIRE(refused(other, kTestDimension));
  REQUIRE(absl::IsDataLoss(FeatureStore::Open(dir.File(kFeatures), other).status()));
  other = manifest;
  other.mutable_vectors()->set_byte_count(manifest.vectors().byte_count() + 1);
  other.mutable_features()->set_byte_count(manifest.features().byte_count() + 1);
  REQUIRE(refused(other, kTestDimension));
  REQUIRE(absl::IsDataLoss(FeatureStore::Open(dir.File(kFeatures), other).status()));
  other = manifest;  // one file in the place of the other
  other.mutable_vectors()->set_byte_count(manifest.features().byte_count());
  REQUIRE(
      absl::IsDataLoss(ShardVectors::Open(dir.File(kFeatures), other, kTestDimension).status()));
  REQUIRE(absl::IsNotFound(ShardVectors::Open(dir.File("x"), manifest, kTestDimension).status()));
}

// A vectors file with section `name` changed by `change` and all checksums right.
std::unique_ptr<ShardVectors> Tampered(const TempDir& dir, const ShardManifest& manifest,
                                       const std::string& name,
                                       const std::function<void(size_t, std::string*)>& change) {
  std::string bytes = *ReadFile(dir.File(kVectors));
  change(RepairChecksums(&bytes, name).offset, &bytes);
  RepairChecksums(&bytes);
  Overwrite(dir.File("tampered"), bytes);
  auto vectors = ShardVectors::Open(dir.File("tampered"), manifest, kTestDimension);
  INFO(vectors.status());
  REQUIRE(vectors.ok());
  REQUIRE((*vectors)->container().Verify().ok());
  return *std::move(vectors);
}

TEST_CASE("offsets that lie cost the item and nothing else") {
  TempDir dir;
  const ShardManifest manifest = Write(dir, MakeItems(kItems));
  for (const int64_t lie :
       {int64_t{-1}, INT64_MIN, INT64_MAX, int64_t{1} << 40, int64_t{100'000}}) {
    for (const char* name : {"item_id", "caption", "uri", "tags"}) {
      CAPTURE(lie, name);
      const auto vectors = Tampered(
          dir, manifest, std::string(name) + "/offsets",
          [&](size_t offset, std::string* bytes) { PatchNumber(lie, offset + 8 * 5, bytes); });
      REQUIRE(absl::IsDataLoss(vectors->Record(4).status()));
      REQUIRE(absl::IsDataLoss(vectors->Record(5).status()));
      REQUIRE(vectors->Record(3).ok());
      REQUIRE(vectors->Record(6).ok());
      REQUIRE(vectors->item_id(4).empty() == (std::string(name) == "item_id"));
      REQUIRE(absl::IsDataLoss(vectors->Verify(0, 1, CallContext::Unbounded())));
      for (int i = 0; i < kItems; ++i) (void)vectors->Find("item/" + std::to_string(i));
    }
  }
}

TEST_CASE("what checksums cannot vouch for is found by reading the content") {
  TempDir dir;
  const ShardManifest manifest = Write(dir, MakeItems(kItems));
  const auto status = [&](const std::string& name,
                          const std::function<void(size_t, std::string*)>& change) {
    return Tampered(dir, manifest, name, change)->Verify(0, 1, CallContext::Unbounded());
  };
  const auto says = [](const absl::Status& status, const std::string& text) {
    INFO(status);
    return absl::IsDataLoss(status) &&
           std::string(status.message()).find(text) != std::string::npos;
  };
  REQUIRE(says(status("embeddings",
                      [](size_t at, std::string* bytes) {
                        PatchNumber(std::numeric_limits<float>::infinity(), at + 64 * 7, bytes);
                      }),
               "item 7 has an embedding that is not finite"));
  REQUIRE(says(status("embeddings",
                      [](size_t at, std::string* bytes) { PatchNumber(1.0f, at + 60, bytes); }),
               "padding"));
  REQUIRE(
      says(status("item_id", [](size_t at, std::string* bytes) { (*bytes)[at] = 'z'; }), "order"));
  REQUIRE(says(status("item_id", [](size_t at, std::string* bytes) { (*bytes)[at] = '\xff'; }),
               "UTF-8"));
  REQUIRE(says(status("caption", [](size_t at, std::string* bytes) { (*bytes)[at] = '\xff'; }),
               "UTF-8"));
  REQUIRE(says(status("tags", [](size_t at, std::string* bytes) { (*bytes)[at] = '\x7f'; }),
               "tags end"));
  const auto vectors = ShardVectors::Open(dir.File(kVectors), manifest, kTestDimension);
  REQUIRE(says((*vectors)->Verify(0, 2, CallContext::Unbounded()), "belongs to shard 1"));
  const CallContext call = CallContext::Unbounded();
  call.cancellation()->Cancel();
  REQUIRE(absl::IsCancelled((*vectors)->Verify(0, 1, call)));
}

TEST_CASE("feature offsets that lie are refused, and so is an item that takes too much") {
  TempDir dir;
  std::vector<EncodedItem> items = MakeItems(kItems);
  for (EncodedItem& item : items) {  // together more than one item may have
    item.features[0].tensors[0] = MakeTensor("regions", Dtype::kFloat16, 70'000, 7, 'x');
  }
  const ShardManifest manifest = Write(dir, items);
  const std::string sound = *ReadFile(dir.File(kFeatures));
  const int64_t total = int64_t{70'000} * kItems;
  for (const int64_t lie : {int64_t{-1}, INT64_MIN, INT64_MAX, total + 1, total}) {
    CAPTURE(lie);
    std::string bytes = sound;
    const size_t at = RepairChecksums(&bytes, TestReranker() + "/regions/rows").offset;
    REQUIRE(at != 0);
    PatchNumber(lie, at + 8 * 5, &bytes);
    RepairChecksums(&bytes);
    Overwrite(dir.File("tampered"), bytes);
    const auto store = *FeatureStore::Open(dir.File("tampered"), manifest);
    REQUIRE(absl::IsDataLoss(store->Get(TestReranker(), {4}).status()));
    REQUIRE(store->Get(TestReranker(), {3, 6}).ok());
    REQUIRE(absl::IsDataLoss(store->Verify(CallContext::Unbounded())));
  }
}

TEST_CASE("a features file whose sections contradict each other is refused") {
  TempDir dir;
  const ShardManifest manifest = Write(dir, MakeItems(kItems));
  const std::string sound = *ReadFile(dir.File(kFeatures));
  const auto refused = [&](const std::string& from, const std::string& to) {
    std::string bytes = sound;
    const size_t at = bytes.find(from);
    REQUIRE(at != std::string::npos);
    bytes.replace(at, to.size(), to);
    RepairChecksums(&bytes);
    Overwrite(dir.File("tampered"), bytes);
    return absl::IsDataLoss(FeatureStore::Open(dir.File("tampered"), manifest).status());
  };
  REQUIRE(refused("models", "nodels"));
  REQUIRE(refused("/regions/rows", "/regions/cols"));
  std::string bytes = sound;
  const size_t at = RepairChecksums(&bytes, "models").offset;
  bytes[at] = 'G';
  RepairChecksums(&bytes);
  Overwrite(dir.File("tampered"), bytes);
  REQUIRE(absl::IsDataLoss(FeatureStore::Open(dir.File("tampered"), manifest).status()));
}

TEST_CASE("random damage is refused by opening or verifying, or changes nothing") {
  TempDir dir;
  const ShardManifest manifest = Write(dir, MakeItems(kItems));
  const std::string sound = *ReadFile(dir.File(kVectors));
  std::mt19937 random(11);
  for (int round = 0; round < 1000; ++round) {
    std::string bytes = sound;
    const size_t bit = random() % (8 * bytes.size());
    bytes[bit / 8] ^= static_cast<char>(1 << bit % 8);
    Overwrite(dir.File("damaged"), bytes);
    const auto vectors = ShardVectors::Open(dir.File("damaged"), manifest, kTestDimension);
    const CallContext call = CallContext::Unbounded();
    if (vectors.ok() && (*vectors)->Verify(0, 1, call).ok()) FAIL("bit " << bit);
  }
}

TEST_CASE("random damage under right checksums never leads out of the file") {
  TempDir dir;
  const ShardManifest manifest = Write(dir, MakeItems(kItems));
  const std::string vectors_file = *ReadFile(dir.File(kVectors));
  const std::string features_file = *ReadFile(dir.File(kFeatures));
  std::mt19937 random(13);
  const auto damage = [&](std::string bytes) {
    for (int i = 0; i < 20; ++i) {
      // Behind the table, so that the sections can still be found to repair them.
      const size_t at = 4096 + random() % (bytes.size() - 4096);
      bytes[at] = static_cast<char>(random() % 2 == 0 ? random() : 0xff);
    }
    RepairChecksums(&bytes);
    return bytes;
  };
  for (int round = 0; round < 1000; ++round) {
    Overwrite(dir.File("v"), damage(vectors_file));
    Overwrite(dir.File("f"), damage(features_file));
    if (const auto vectors = ShardVectors::Open(dir.File("v"), manifest, kTestDimension);
        vectors.ok()) {
      (void)(*vectors)->Verify(0, 1, CallContext::Unbounded());
      for (int64_t row = 0; row < kItems; ++row) {
        (void)(*vectors)->Record(row);
        (void)(*vectors)->Find("item/" + std::to_string(row));
      }
    }
    if (const auto store = FeatureStore::Open(dir.File("f"), manifest); store.ok()) {
      (void)(*store)->Verify(CallContext::Unbounded());
      for (int64_t row = 0; row < kItems; ++row) (void)(*store)->Get(TestReranker(), {row});
    }
  }
}

}  // namespace
}  // namespace sightline
