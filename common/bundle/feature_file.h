// The features file of one shard: what cross-encoders need of each item.
//
// A container (container.h) with these sections, rows in the order of the vectors file:
//
//   models                      bytes: 64 hex digits for each cross-encoder
//   <model>/<tensor>            [total rows, columns]: the rows of all items, one item
//                               after another
//   <model>/<tensor>/rows       int64 [n + 1]: item i has rows [i] to [i + 1] of them
//   <model>/checksums/items     int32 [n], may be absent: CRC32C of all that an item has of
//                               the model (ItemChecksum)
//
// There are two ways to read it: FeatureStore (feature_store.h), which has in memory where each
// item's features lie and answers many threads, and FeatureReader (feature_reader.h), which has
// next to nothing there and goes through the rows.
#ifndef SIGHTLINE_COMMON_BUNDLE_FEATURE_FILE_H_
#define SIGHTLINE_COMMON_BUNDLE_FEATURE_FILE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "common/bundle/container.h"
#include "common/bundle/item_features.h"
#include "common/bundle/offsets.h"
#include "sightline/bundle/v1/generation.pb.h"

namespace sightline {

// Whether `name` may name a feature tensor: [a-z0-9_]+, at most 64 characters.
bool IsFeatureName(absl::string_view name);

// The section of a cross-encoder's item checksums.  No tensor's name has a slash.
std::string ItemChecksumsSection(absl::string_view model);

// The checksum of one item's features, taken tensor by tensor: 0 first, then what it was for
// the tensors before.  How many rows there are is part of it.
uint32_t ItemChecksum(uint32_t before, int64_t rows, absl::string_view bytes);

// What a file has of one cross-encoder.
struct ModelFeatures {
  struct Tensor {
    std::string name;
    const Section* section = nullptr;
    OffsetsSection rows;
    // Without padding.
    int64_t row_bytes() const;
  };
  std::vector<Tensor> tensors;
  const Section* checksums = nullptr;  // null in a file of an older writer
};

// Its sections, found and checked in their sizes.  Nothing that grows with the items is read or
// held, but for four bytes a MiB.  Immutable, thread-safe.
class FeatureFile {
 public:
  // DataLoss if the file is not what `shard` says; otherwise as reading a container
  // (container.h).
  static absl::StatusOr<std::unique_ptr<FeatureFile>> Open(absl::string_view path,
                                                           const bundle::v1::ShardManifest& shard);

  int64_t size() const { return size_; }
  // Hashes of the cross-encoders that the file has features for, and what it has of each.
  const std::vector<std::string>& models() const { return models_; }
  const std::vector<ModelFeatures>& contents() const { return contents_; }

  // Place of `model` among them: NotFound.
  absl::StatusOr<size_t> Find(absl::string_view model) const;
  // OutOfRange for a row that is not there.
  absl::Status CheckRow(int64_t row) const;

  // Whether the item's `ranges`, one a tensor, ask for no more than is allowed: DataLoss.
  absl::Status CheckSize(const ModelFeatures& model, int64_t row,
                         absl::Span<const OffsetsSection::Range> ranges) const;

  // Reads the item's features and compares them: with `checksum`, its own, or where the file has
  // none with those of the MiBs that hold them.  Errors as CheckSize and Container::Read.
  absl::StatusOr<ItemFeatures> ReadItem(const ModelFeatures& model, int64_t row,
                                        absl::Span<const OffsetsSection::Range> ranges,
                                        absl::optional<uint32_t> checksum) const;

  // Whether the item's checksum is what is `stored`: DataLoss (CHECKSUM_MISMATCH).
  absl::Status CheckChecksum(int64_t row, uint32_t stored, uint32_t checksum) const;

  const Container& container() const { return *container_; }

 private:
  enum class Reading { kChecked, kUnchecked, kAgain };

  explicit FeatureFile(std::unique_ptr<Container> container);
  absl::Status ReadModels();
  absl::Status FindTensors();
  absl::Status FindChecksums();
  absl::Status Read(const Section& section, int64_t begin, int64_t length, Reading reading,
                    char* to) const;
  absl::StatusOr<ItemFeatures> Copy(const ModelFeatures& model,
                                    absl::Span<const OffsetsSection::Range> ranges,
                                    Reading reading) const;

  std::unique_ptr<Container> container_;
  int64_t size_ = 0;
  std::vector<std::string> models_;
  std::vector<ModelFeatures> contents_;  // of each model
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_BUNDLE_FEATURE_FILE_H_
