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
#ifndef SIGHTLINE_COMMON_BUNDLE_FEATURE_STORE_H_
#define SIGHTLINE_COMMON_BUNDLE_FEATURE_STORE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/base/call_context.h"
#include "common/bundle/container.h"
#include "common/bundle/item_features.h"
#include "common/bundle/offsets.h"
#include "sightline/bundle/v1/generation.pb.h"

namespace sightline {

// Of one item and one cross-encoder, all tensors together.  What is more is refused by
// writer and reader, so that one lying offset cannot fill the memory.
inline constexpr int64_t kMaxItemFeatureBytes = int64_t{16} << 20;

// Of one cross-encoder.
inline constexpr int kMaxFeatureTensors = 64;

// Whether `name` may name a feature tensor: [a-z0-9_]+, at most 64 characters.
bool IsFeatureName(absl::string_view name);

// The section of a cross-encoder's item checksums.  No tensor's name has a slash.
std::string ItemChecksumsSection(absl::string_view model);

// The checksum of one item's features, taken tensor by tensor: 0 first, then what it was for
// the tensors before.  How many rows there are is part of it.
uint32_t ItemChecksum(uint32_t before, int64_t rows, absl::string_view bytes);

// A features file: for each cross-encoder the item features of every row, read from the file
// when they are asked for.  Where items lie and their checksums are in memory.  Immutable,
// thread-safe.
class FeatureStore {
 public:
  // Checks sizes and reads offsets and checksums.  DataLoss if the file is not what `shard`
  // says; otherwise as reading a container (container.h).
  static absl::StatusOr<std::unique_ptr<FeatureStore>> Open(absl::string_view path,
                                                            const bundle::v1::ShardManifest& shard);

  int64_t size() const { return size_; }
  // Hashes of the cross-encoders that the file has features for.
  const std::vector<std::string>& models() const { return models_; }

  // Reads the features of `rows` made by `model`, and compares them: with the item's own
  // checksum, or where the file has none with those of the MiBs that hold them, which takes
  // reading these.  NotFound for a model that the file has nothing of, OutOfRange for a row,
  // DataLoss for lying offsets; otherwise as Container::Read.
  absl::StatusOr<std::vector<ItemFeatures>> Get(absl::string_view model,
                                                absl::Span<const int64_t> rows) const;

  // Reads the file once and compares it: DataLoss unless checksums are right, those of items
  // too, the items share the rows out among them in order, and none takes too much.  What
  // the numbers mean only the cross-encoder can check.
  absl::Status Verify(const CallContext& call) const;

  const Container& container() const { return *container_; }

 private:
  struct Tensor {
    std::string name;
    const Section* section = nullptr;
    Offsets rows;
  };

  explicit FeatureStore(std::unique_ptr<Container> container);
  absl::Status ReadModels();
  absl::Status ReadTensors();
  // Whether the item's offsets hold and ask for no more than is allowed.
  absl::Status CheckRow(const std::vector<Tensor>& tensors, int64_t row) const;
  // Of one cross-encoder.
  struct Model {
    std::vector<Tensor> tensors;
    SectionBytes checksums;  // int32 of each item; null in a file without them
  };
  absl::Status VerifyModel(const Model& model, const CallContext& call) const;
  enum class Reading { kChecked, kUnchecked, kAgain };
  absl::Status ReadChecksums();
  absl::StatusOr<ItemFeatures> ReadRow(const Model& model, int64_t row, Reading reading) const;
  absl::Status CheckChecksum(const Model& model, int64_t row, uint32_t checksum) const;
  absl::StatusOr<ItemFeatures> GetRow(const Model& model, int64_t row) const;

  std::unique_ptr<Container> container_;
  int64_t size_ = 0;
  std::vector<std::string> models_;
  std::vector<Model> contents_;  // of each model
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_BUNDLE_FEATURE_STORE_H_
