#include "services/sightlinectl/import_regions.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "common/base/clean_text.h"
#include "common/base/status_macros.h"
#include "common/dataset/region_file.h"

namespace sightline {
namespace {

// Of one item, as floats.
constexpr int64_t kMaxItemBytes = int64_t{256} << 20;
constexpr absl::Duration kTellEvery = absl::Seconds(10);

// An item that can be read, and what it has beside features.
struct GoodItem {
  CorpusItem item;
  bool boxes = false, confidences = false;
};

// The items that one file can hold together.
struct Selection {
  std::vector<GoodItem> items;
  bool box_sizes = false;  // one of them has its own
};

// Says how many have been read, every ten seconds.
class Progress {
 public:
  Progress(int64_t total, const ImportProgress& tell) : total_(total), tell_(tell) {}

  void Next() {
    ++done_;
    const absl::Time now = absl::Now();
    if (now < next_) return;
    next_ = now + kTellEvery;
    tell_(done_, total_);
  }

 private:
  const int64_t total_;
  const ImportProgress& tell_;
  int64_t done_ = 0;
  absl::Time next_ = absl::Now() + kTellEvery;
};

void LeaveOut(const CorpusItem& item, absl::string_view reason, ImportedRegions* imported) {
  imported->left_out.push_back(
      {item.item_id, EscapeUnlessPrintable(item.path), std::string(reason)});
}

// Those that can be read, and stored as `dtype`.
Selection SelectReadable(const CorpusReader& reader, std::vector<CorpusItem> items, Dtype dtype,
                         Progress* progress, ImportedRegions* imported) {
  Selection selection;
  for (CorpusItem& item : items) {
    const absl::StatusOr<RegionSet> regions = reader.ReadRegions(item, kMaxItemBytes);
    absl::Status good = regions.status();
    if (good.ok() && dtype == Dtype::kFloat16) good = CheckFitsFloat16(*regions);
    if (good.ok()) good = reader.ReadSoftLabels(item, kMaxItemBytes).status();
    if (good.ok()) {
      selection.box_sizes = selection.box_sizes || !regions->box_sizes.empty();
      selection.items.push_back(
          {std::move(item), !regions->boxes.empty(), !regions->confidences.empty()});
    } else {
      LeaveOut(item, good.message(), imported);
    }
    progress->Next();
  }
  return selection;
}

// A file has boxes, or confidences, of all items or of none: the majority decides.
void LeaveOutMinority(bool GoodItem::*has, absl::string_view what, Selection* selection,
                      ImportedRegions* imported) {
  std::vector<GoodItem>& items = selection->items;
  const auto count =
      std::count_if(items.begin(), items.end(), [has](const GoodItem& good) { return good.*has; });
  const bool wanted = 2 * count >= static_cast<int64_t>(items.size());
  std::vector<GoodItem> kept;
  for (GoodItem& good : items) {
    if (good.*has == wanted) {
      kept.push_back(std::move(good));
    } else {
      LeaveOut(good.item,
               absl::StrCat("has ", wanted ? "no " : "", what, ", unlike most of the others"),
               imported);
    }
  }
  items = std::move(kept);
}

absl::StatusOr<RegionFileItem> ReadItem(const CorpusReader& reader, const CorpusItem& item,
                                        bool box_sizes) {
  RegionFileItem read;
  read.line.id = item.item_id;
  read.line.captions = item.captions;
  read.line.tags = item.tags;
  read.line.ocr_tokens = item.ocr_tokens;
  read.line.split = item.split;
  read.line.published_place = item.published_place;
  ASSIGN_OR_RETURN(read.regions, reader.ReadRegions(item, kMaxItemBytes));
  ASSIGN_OR_RETURN(read.soft_labels, reader.ReadSoftLabels(item, kMaxItemBytes));
  RegionSet& regions = read.regions;
  if (box_sizes && regions.box_sizes.empty()) {
    // What a model computes of corners alone, said, because others have their own.
    for (size_t i = 0; i < regions.boxes.size(); i += 4) {
      regions.box_sizes.push_back(regions.boxes[i + 2] - regions.boxes[i]);
      regions.box_sizes.push_back(regions.boxes[i + 3] - regions.boxes[i + 1]);
    }
  }
  return read;
}

}  // namespace

absl::StatusOr<ImportedRegions> ImportRegions(const CorpusSpec& spec, const std::string& out,
                                              Dtype features, const ImportProgress& progress) {
  std::error_code ignored;
  if (std::filesystem::is_directory(out, ignored)) {
    return absl::InvalidArgumentError(absl::StrCat(out, " is a folder; give a file to write"));
  }
  ASSIGN_OR_RETURN(const std::unique_ptr<CorpusReader> reader, OpenCorpus(spec));
  if (reader->region_feature_size() == 0) {
    return absl::InvalidArgumentError(absl::StrCat("a corpus of kind ", CorpusKindName(spec.kind),
                                                   " holds pictures, no regions"));
  }
  ASSIGN_OR_RETURN(CorpusListing listing, reader->List());
  ImportedRegions imported;
  imported.left_out = std::move(listing.rejected);
  imported.warnings = std::move(listing.warnings);
  // Each is read once to be judged and twice to be written, thrice with soft labels.
  const int64_t readings = reader->soft_label_count() > 0 ? 4 : 3;
  Progress passes(readings * static_cast<int64_t>(listing.items.size()), progress);
  Selection selection =
      SelectReadable(*reader, std::move(listing.items), features, &passes, &imported);
  LeaveOutMinority(&GoodItem::boxes, "boxes", &selection, &imported);
  LeaveOutMinority(&GoodItem::confidences, "confidences", &selection, &imported);
  if (selection.items.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the corpus has no item that can be read", imported.left_out.empty() ? "" : "; the first: ",
        imported.left_out.empty() ? "" : imported.left_out[0].reason));
  }
  imported.item_count = static_cast<int64_t>(selection.items.size());
  RETURN_IF_ERROR(WriteRegionFile(out, imported.item_count, features, [&](int64_t i) {
    passes.Next();
    return ReadItem(*reader, selection.items[i].item, selection.box_sizes);
  }));
  return imported;
}

}  // namespace sightline
