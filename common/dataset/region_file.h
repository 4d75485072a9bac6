// Our own format of region features: one file, a container (common/bundle/container.h).
//
//   regions/items         bytes: of each item one JSON object, {"id": ...} and, as they are
//                         known, "captions", "tags" (names of the objects), "ocr_tokens"
//                         (words in reading order), "split" and "place", as in item_line.h
//   regions/item_offsets  int64 [items + 1]: where each begins and ends
//   regions/row_offsets   int64 [items + 1]: which regions are an item's; at least one
//   regions/features      float16 or float32 [regions, numbers], in the detector's order
//   regions/boxes         float32 [regions, 4]: x1/W, y1/H, x2/W, y2/H, each in [0, 1];
//                         absent when the features carry them, or nobody needs them
//   regions/box_sizes     float32 [regions, 2]: w/W, h/H; absent when they are x2 - x1, y2 - y1
//   regions/confidences   float32 [regions], each in [0, 1]; absent when not known
//   regions/soft_labels   float16 or float32 [regions, classes]: how likely the detector thinks
//                         each of its classes, which add up to 1; absent when not known
//
// Nothing is read before it is asked for but the header; what is read is held to the
// checksums of the MiBs that it lies in.
#ifndef SIGHTLINE_COMMON_DATASET_REGION_FILE_H_
#define SIGHTLINE_COMMON_DATASET_REGION_FILE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/bundle/container.h"
#include "common/bundle/offsets.h"
#include "common/dataset/item_line.h"
#include "common/image/image_input.h"

namespace sightline {

inline constexpr absl::string_view kRegionItemsSection = "regions/items";

// Immutable, thread-safe.
class RegionFile {
 public:
  // DataLoss: no region file, or one whose sections contradict each other; otherwise as
  // Container::Map.
  static absl::StatusOr<std::unique_ptr<RegionFile>> Open(absl::string_view path);
  // Over bytes in memory that outlive it.
  static absl::StatusOr<std::unique_ptr<RegionFile>> FromBytes(absl::string_view bytes);

  int64_t item_count() const { return item_count_; }
  int64_t region_count() const { return features_->shape[0]; }
  int feature_size() const { return static_cast<int>(features_->shape[1]); }
  Dtype feature_dtype() const { return features_->dtype; }
  bool has_boxes() const { return boxes_ != nullptr; }
  bool has_box_sizes() const { return box_sizes_ != nullptr; }
  bool has_confidences() const { return confidences_ != nullptr; }
  // Classes that regions have probabilities of; 0: there are no soft labels.
  int soft_label_count() const {
    return soft_labels_ == nullptr ? 0 : static_cast<int>(soft_labels_->shape[1]);
  }
  const Container& container() const { return *container_; }

  // SHA-256 in hex over all that its sections are and their checksums: of equal content the same.
  // The sections themselves are not read.
  std::string Digest() const;

  // Reads items and offsets, all of them: DataLoss if they are damaged.
  absl::Status VerifyItems() const;

  // Both for 0 <= i < item_count().  InvalidArgument, for the fault is one item's: it is
  // damaged, malformed, or larger than `max_bytes` as floats.
  absl::StatusOr<ItemLine> Item(int64_t i) const;
  absl::StatusOr<RegionSet> Regions(int64_t i, int64_t max_bytes) const;
  // Likewise, of each of its regions soft_label_count() numbers that pass CheckSoftLabels; of a
  // file without soft labels none.
  absl::StatusOr<std::vector<float>> SoftLabels(int64_t i, int64_t max_bytes) const;

 private:
  RegionFile() = default;
  static absl::StatusOr<std::unique_ptr<RegionFile>> Parse(std::unique_ptr<Container> container);
  absl::Status ParseSections();
  // Checked bytes of `section`'s rows.
  absl::StatusOr<const char*> Rows(const Section& section, Offsets::Range rows) const;
  // Their numbers; none of a section that is not there.
  absl::StatusOr<std::vector<float>> Numbers(const Section* section, Offsets::Range rows) const;

  std::unique_ptr<Container> container_;
  int64_t item_count_ = 0;
  const Section* items_ = nullptr;
  const Section* features_ = nullptr;
  const Section* boxes_ = nullptr;        // may be null
  const Section* box_sizes_ = nullptr;    // may be null
  const Section* confidences_ = nullptr;  // may be null
  const Section* soft_labels_ = nullptr;  // may be null
  Offsets item_offsets_, row_offsets_;
};

struct RegionFileItem {
  ItemLine line;  // its path is not kept
  RegionSet regions;
  std::vector<float> soft_labels;  // of each region as many; empty: not known
};

// InvalidArgument for a feature that is too large for float16.
absl::Status CheckFitsFloat16(const RegionSet& regions);

// Gives item `i`.  Asked twice for each, from 0 on, a third time where the first one has soft
// labels, and to give the same each time.
using RegionFileSource = std::function<absl::StatusOr<RegionFileItem>(int64_t i)>;

// Writes `count` items with one of them in memory at a time, and of all what is not a feature.
// `features` is float16 or float32; soft labels are float16.
// InvalidArgument: an item without an id, with regions that do not pass CheckRegionSet or labels
// that do not pass CheckSoftLabels, items of different widths or classes, items with and without
// boxes, sizes, confidences or soft labels, or a feature too large for float16.  Aborted when an
// item changes on the way.  What `source` returned.
absl::Status WriteRegionFile(absl::string_view path, int64_t count, Dtype features,
                             const RegionFileSource& source);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_DATASET_REGION_FILE_H_
