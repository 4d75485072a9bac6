// A features file (feature_file.h) for those that answer out of it.
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
#include "common/bundle/feature_file.h"
#include "common/bundle/item_features.h"
#include "common/bundle/offsets.h"
#include "sightline/bundle/v1/generation.pb.h"

namespace sightline {

// For each cross-encoder the item features of every row, read from the file when they are asked
// for.  Where items lie and their checksums are in memory.  Immutable, thread-safe.
class FeatureStore {
 public:
  // Reads offsets and checksums.  Errors as FeatureFile::Open.
  static absl::StatusOr<std::unique_ptr<FeatureStore>> Open(absl::string_view path,
                                                            const bundle::v1::ShardManifest& shard);

  int64_t size() const { return file_->size(); }
  // Hashes of the cross-encoders that the file has features for.
  const std::vector<std::string>& models() const { return file_->models(); }

  // Reads the features of `rows` made by `model`, and compares them (FeatureFile::ReadItem).
  // NotFound for a model that the file has nothing of, OutOfRange for a row, DataLoss for lying
  // offsets; otherwise as Container::Read.
  absl::StatusOr<std::vector<ItemFeatures>> Get(absl::string_view model,
                                                absl::Span<const int64_t> rows) const;

  // Reads the file once and compares it: DataLoss unless checksums are right, those of items
  // too, the items share the rows out among them in order, and none takes too much.  What
  // the numbers mean only the cross-encoder can check.
  absl::Status Verify(const CallContext& call) const;

  const Container& container() const { return file_->container(); }

 private:
  // Of one cross-encoder.
  struct Model {
    std::vector<Offsets> rows;  // of each tensor
    SectionBytes checksums;     // int32 of each item; null in a file without them
  };

  explicit FeatureStore(std::unique_ptr<FeatureFile> file);
  absl::StatusOr<std::vector<Offsets::Range>> RangesOf(const Model& model, int64_t row) const;
  uint32_t StoredChecksum(const Model& model, int64_t row) const;
  absl::StatusOr<ItemFeatures> GetRow(size_t model, int64_t row) const;
  absl::Status VerifyModel(size_t model, const CallContext& call) const;

  std::unique_ptr<FeatureFile> file_;
  std::vector<Model> loaded_;  // of each model
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_BUNDLE_FEATURE_STORE_H_
