// Going through the items of a features file in the order of its rows.
#ifndef SIGHTLINE_COMMON_BUNDLE_FEATURE_READER_H_
#define SIGHTLINE_COMMON_BUNDLE_FEATURE_READER_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "common/bundle/container.h"
#include "common/bundle/feature_file.h"
#include "common/bundle/item_features.h"
#include "common/bundle/offsets.h"
#include "common/bundle/section_reader.h"

namespace sightline {

// Offsets, checksums and features are read when they are asked for, and compared each time.
//
// Holds two pieces (section_reader.h) of the offsets of each tensor and of the checksums, of the
// models that were asked for, and nothing an item.  Cheap where rows come in order; any other
// order works.  For one thread.
class FeatureReader {
 public:
  // `file` outlives the reader.
  explicit FeatureReader(const FeatureFile& file, int64_t keep = Container::kBlockBytes);

  // As FeatureStore::Get for one row.
  absl::StatusOr<ItemFeatures> Get(absl::string_view model, int64_t row);

 private:
  // Of one cross-encoder.
  struct Model {
    std::vector<OffsetReader> rows;  // of each tensor
    absl::optional<SectionReader> checksums;
  };

  const FeatureFile* file_;
  std::vector<Model> models_;  // of each in the file
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_BUNDLE_FEATURE_READER_H_
