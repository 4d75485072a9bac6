// Items and whole generations for tests.
#ifndef SIGHTLINE_TESTS_COMMON_BUNDLE_ITEMS_H_
#define SIGHTLINE_TESTS_COMMON_BUNDLE_ITEMS_H_

#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/checksum.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"
#include "common/bundle/generation.h"
#include "tests/common/bundle/manifests.h"

namespace sightline {

inline constexpr int kTestDimension = 5;  // rows need padding

inline std::string TestReranker() {
  return Sha256Hex("reranker");
}

inline FeatureTensor MakeTensor(const std::string& name, Dtype dtype, int64_t rows, int64_t columns,
                                char fill) {
  FeatureTensor tensor{name, dtype, rows, columns, ""};
  tensor.bytes.assign(static_cast<size_t>(rows * columns) * DtypeSize(dtype), fill);
  return tensor;
}

// Item number `i`; ids are not in the order of the numbers, some fields are empty, and
// the number of region rows varies, zero included.
inline EncodedItem MakeItem(int i, bool with_features = true) {
  EncodedItem item;
  item.record.item_id = "item/" + std::to_string(i);
  if (i % 3 != 0) item.record.caption = "caption \xE2\x82\xAC " + std::to_string(i);
  if (i % 4 != 0) item.record.uri = "file:///" + std::to_string(i);
  for (int tag = 0; tag < i % 3; ++tag) item.record.tags.push_back(std::string(tag, 't'));
  for (int k = 0; k < kTestDimension; ++k) item.embedding.push_back(i + 0.25f * k);
  if (with_features) {
    const char fill = static_cast<char>('a' + i % 26);
    item.features = {{{MakeTensor("regions", Dtype::kFloat16, i % 4, 7, fill),
                       MakeTensor("token_ids", Dtype::kInt32, 1 + i % 2, 1, fill)}}};
  }
  return item;
}

inline std::vector<EncodedItem> MakeItems(int count, bool with_features = true) {
  std::vector<EncodedItem> items;
  for (int i = 0; i < count; ++i) items.push_back(MakeItem(i, with_features));
  return items;
}

// Writes generation `name` of index "images" with `count` items in `shards` shards.
inline absl::StatusOr<bundle::v1::GenerationManifest> WriteTestGeneration(
    const std::string& store, const std::string& name, int count, int shards,
    bool with_features = true) {
  bundle::v1::GenerationManifest manifest = SoundGenerationManifest();
  manifest.set_generation(name);
  manifest.set_item_count(count);
  manifest.mutable_embedding()->set_dimension(kTestDimension);
  manifest.set_reranker_model(with_features ? TestReranker() : "");
  manifest.clear_shards();
  std::vector<std::vector<EncodedItem>> items(shards);
  for (EncodedItem& item : MakeItems(count, with_features)) {
    items[ShardOf(item.record.item_id, shards)].push_back(std::move(item));
  }
  std::vector<std::string> models;
  if (with_features) models.push_back(TestReranker());
  for (int shard = 0; shard < shards; ++shard) {
    ASSIGN_OR_RETURN(*manifest.add_shards(),
                     WriteShard(GenerationDirectory(store, "images", name), shard, shards,
                                kTestDimension, models, items[shard]));
  }
  RETURN_IF_ERROR(WriteGenerationManifest(store, manifest));
  return manifest;
}

// Writes `bytes` beside shard `shard` as what a kind of index might have built, and describes
// it in `manifest`, of which a file on disk is left as it is.  Returns its path.
inline absl::StatusOr<std::string> AddIndexFile(const std::string& store, int shard,
                                                const std::string& bytes,
                                                bundle::v1::GenerationManifest* manifest) {
  bundle::v1::ShardManifest* const entry = manifest->mutable_shards(shard);
  const std::string name = ShardFileName(shard, manifest->shards_size(),
                                         "graph" + std::to_string(entry->index_files_size()));
  const std::string path =
      JoinPath(GenerationDirectory(store, manifest->index(), manifest->generation()), name);
  RETURN_IF_ERROR(WriteFileAtomically(path, bytes));
  bundle::v1::BundleFile* const file = entry->add_index_files();
  file->set_path(name);
  file->set_byte_count(static_cast<int64_t>(bytes.size()));
  file->set_sha256(Sha256Hex(bytes));
  return path;
}

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_COMMON_BUNDLE_ITEMS_H_
