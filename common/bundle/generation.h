// Generations on disk: reading, writing and publishing.
//
//   <store>/models/<sha256>/...
//   <store>/indexes/<index>/CURRENT
//   <store>/indexes/<index>/generations/<id>/manifest.json
//                                            shards/00000-of-00002.vectors
//                                            shards/00000-of-00002.features
#ifndef SIGHTLINE_COMMON_BUNDLE_GENERATION_H_
#define SIGHTLINE_COMMON_BUNDLE_GENERATION_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/base/dtype.h"
#include "common/bundle/container.h"
#include "common/bundle/item_features.h"
#include "sightline/bundle/v1/generation.pb.h"

namespace sightline {

// Whether `name` may name an index or a generation: [a-z0-9][a-z0-9_-]*, at most
// `max_length` characters.  Names become path components, so nothing else gets through.
bool IsValidName(absl::string_view name, int max_length);

// Where an item lives: the first eight bytes of SHA-256(item id), big-endian, modulo.
int ShardOf(absl::string_view item_id, int shard_count);

std::string GenerationDirectory(absl::string_view store, absl::string_view index,
                                absl::string_view generation);
std::string ModelDirectory(absl::string_view store, absl::string_view model_id);

// NotFound if nothing was ever published; DataLoss if CURRENT is malformed.
absl::StatusOr<bundle::v1::CurrentGeneration> ReadCurrent(absl::string_view store,
                                                          absl::string_view index);

// Makes `generation` the desired one by renaming CURRENT into place (fsync included).
// FailedPrecondition unless the generation has a readable manifest whose files are all
// there in their full length.  Returns what was written.
absl::StatusOr<bundle::v1::CurrentGeneration> PublishGeneration(absl::string_view store,
                                                                absl::string_view index,
                                                                absl::string_view generation);

// NotFound, DataLoss (malformed, wrong index or id), FailedPrecondition (newer format).
absl::StatusOr<bundle::v1::GenerationManifest> ReadGenerationManifest(
    absl::string_view store, absl::string_view index, absl::string_view generation);

// One stored item.  A value.
struct ItemRecord {
  std::string item_id;
  std::string caption;            // a caption's text; an image's first caption, or empty
  std::string uri;                // where the original lies, or empty
  std::vector<std::string> tags;  // free words
};

// The vectors file of one shard, mapped: embedding matrix and item table.  Immutable,
// thread-safe.
class ShardVectors {
 public:
  // Maps and checks sizes; does not read the data (see Verify of container.h).
  // DataLoss if the file is not what `manifest` says.
  static absl::StatusOr<std::unique_ptr<ShardVectors>> Open(
      absl::string_view path, const bundle::v1::ShardManifest& shard, int dimension);

  int64_t size() const;
  int dimension() const;
  // Row-major floats; rows start stride() floats apart, the gap is zero.
  const float* data() const;
  int64_t stride() const;
  absl::Span<const float> embedding(int64_t row) const;

  absl::string_view item_id(int64_t row) const;
  // DataLoss if the stored record is malformed; OutOfRange for a row that is not there.
  absl::StatusOr<ItemRecord> Record(int64_t row) const;
  // Row of the item, or -1.  Binary search: rows are in item-id order.
  int64_t Find(absl::string_view item_id) const;

  const Container& container() const;

 private:
  explicit ShardVectors(std::unique_ptr<Container> container);
  std::unique_ptr<Container> container_;
  int64_t size_ = 0;
  int dimension_ = 0;
  int64_t stride_ = 0;
  const float* data_ = nullptr;
};

// The features file of one shard, mapped: for each cross-encoder the item features of
// every row.  Immutable, thread-safe.
class FeatureStore {
 public:
  static absl::StatusOr<std::unique_ptr<FeatureStore>> Open(
      absl::string_view path, const bundle::v1::ShardManifest& shard);

  // Hashes of the cross-encoders that the file has features for.
  const std::vector<std::string>& models() const;

  // Copies the features of `rows` made by `model`.  NotFound for a model that the file
  // has nothing of, OutOfRange for a row, DataLoss for lying offsets.
  absl::StatusOr<std::vector<ItemFeatures>> Get(absl::string_view model,
                                                absl::Span<const int64_t> rows) const;

  const Container& container() const;

 private:
  explicit FeatureStore(std::unique_ptr<Container> container);
  std::unique_ptr<Container> container_;
  std::vector<std::string> models_;
  int64_t row_count_ = 0;
};

// One item on its way to disk.
struct EncodedItem {
  ItemRecord record;
  std::vector<float> embedding;
  ItemFeatures features;  // of one cross-encoder; empty when there is none
};

// Writes one shard's two files into `directory` (named as above) and returns what the
// manifest says of them.  `items` are sorted by id here.  InvalidArgument: duplicate
// ids, a dimension that differs, a number that is not finite, features whose tensors
// differ in name, dtype or columns from item to item.
absl::StatusOr<bundle::v1::ShardManifest> WriteShard(absl::string_view directory, int shard,
                                                     int shard_count, int dimension,
                                                     absl::string_view reranker_model,
                                                     std::vector<EncodedItem> items);

// Writes manifest.json (fsync, rename).  The last act of making a generation: without
// it the folder is nothing.
absl::Status WriteGenerationManifest(absl::string_view store,
                                     const bundle::v1::GenerationManifest& manifest);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_BUNDLE_GENERATION_H_
