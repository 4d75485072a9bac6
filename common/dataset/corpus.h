// A corpus: pictures, or regions that a detector has found in pictures, with captions,
// wherever they come from.
//
//   ASSIGN_OR_RETURN(std::unique_ptr<CorpusReader> corpus, OpenCorpus(spec));
//   ASSIGN_OR_RETURN(CorpusListing listing, corpus->List());
//   ASSIGN_OR_RETURN(std::string png, corpus->ReadPicture(listing.items[0], max_bytes));
//
// Listing reads everything but the pictures.  Pictures are read one by one, by any
// number of threads, and nobody looks inside them here: what is no picture is found out
// by whoever decodes it.  A corpus of regions gives each item's with ReadRegions instead,
// all that there are, checked (region_set.h); how many are read is the model's business.
#ifndef SIGHTLINE_COMMON_DATASET_CORPUS_H_
#define SIGHTLINE_COMMON_DATASET_CORPUS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "common/base/limits.h"
#include "common/dataset/splits.h"
#include "common/image/image_input.h"

namespace sightline {

// One caption, as its source has it: trimmed, not empty, UTF-8, at most kMaxCaptionBytes.
struct CorpusCaption {
  std::string language;  // the source's own code: "en", "pt_BR", "ca@valencia"
  std::string text;
};

// One picture, or its regions.  A value.
struct CorpusItem {
  std::string item_id;  // passes CheckItemId
  // Where the item lies, as the file system has it: any bytes.  `FILE#row` of one among
  // others in a file.
  std::string path;
  // The first caption of a language is its best one: titles come before keywords.
  std::vector<CorpusCaption> captions;
  std::vector<std::string> tags;        // free words; of regions: the objects' names
  std::vector<std::string> ocr_tokens;  // words to be read in the picture, in reading order
  // That its source puts it in; nothing: it follows from the id (splits.h).
  absl::optional<Split> split;
  // Its place, from 0, in the order in which its set was published, which some protocols go by;
  // nothing: there is no such order.  Listings have another, that of ids.
  absl::optional<int64_t> published_place;

  // The first caption in `language`, or null.
  const CorpusCaption* FirstCaption(absl::string_view language) const {
    for (const CorpusCaption& caption : captions) {
      if (caption.language == language) return &caption;
    }
    return nullptr;
  }
};

// Something wrong with one item of a source.
struct CorpusProblem {
  std::string item_id;  // empty when none could be made
  std::string path;
  std::string reason;
};

struct CorpusListing {
  std::vector<CorpusItem> items;        // by item id, bytewise; no id twice
  std::vector<CorpusProblem> rejected;  // meant to be items, but cannot be
  std::vector<CorpusProblem> warnings;  // items that are there with less than they should have
};

// $TMPDIR, or /tmp where that is no folder.
std::string TemporaryDirectory();

// Takes a listing piece by piece; an error ends the listing.
class ListingSink {
 public:
  virtual ~ListingSink() = default;
  // Where a reader may put what does not fit the memory (record_sorter.h).
  virtual const std::string& directory() const = 0;
  virtual absl::Status Item(CorpusItem item) = 0;
  virtual absl::Status Rejected(CorpusProblem problem) = 0;
  virtual absl::Status Warning(CorpusProblem problem) = 0;
};

// Immutable, thread-safe.
class CorpusReader {
 public:
  virtual ~CorpusReader() = default;

  // All items, in an order that depends on their ids alone: the same source gives the
  // same listing.  All but the first of those that share an id are rejected.  Errors as ListTo.
  absl::StatusOr<CorpusListing> List() const;

  // The same piece by piece: items not yet in order and perhaps with an id twice, of which the
  // first counts.  An error when the source as a whole cannot be read (a folder that is
  // not there, a caption file that does not parse); trouble with one item goes to
  // `rejected` or `warnings`.  Readers of what may be larger than the memory hold little of it.
  virtual absl::Status ListTo(ListingSink& sink) const = 0;

  // Numbers in the feature of each region of each item; 0: the items are pictures.
  virtual int region_feature_size() const { return 0; }

  // The encoded picture of an item of this reader's listing: here the file at its path.
  // InvalidArgument when it has no bytes or more than `max_bytes`; NotFound, PermissionDenied, ...
  // as files.h has them; FailedPrecondition from a corpus of regions.
  virtual absl::StatusOr<std::string> ReadPicture(const CorpusItem& item, int64_t max_bytes) const;

  // The regions of an item of this reader's listing, of region_feature_size() numbers.
  // InvalidArgument when they are damaged, none, do not pass CheckRegionSet, or have features
  // of more than `max_bytes` as floats; otherwise as ReadPicture.  FailedPrecondition from a
  // corpus of pictures.
  virtual absl::StatusOr<RegionSet> ReadRegions(const CorpusItem& item, int64_t max_bytes) const;

  // Classes that each region of each item has probabilities of; 0: there are no soft labels.
  virtual int soft_label_count() const { return 0; }

  // Those of an item of this reader's listing, soft_label_count() for each of its regions, which
  // pass CheckSoftLabels; none where there are none.  Errors as ReadRegions.
  virtual absl::StatusOr<std::vector<float>> ReadSoftLabels(const CorpusItem& item,
                                                            int64_t max_bytes) const;

  // What tells the regions and soft labels of all items from any others, where the source keeps
  // checksums of them: equal ones give the same, wherever they lie.  Empty: it keeps none.  No
  // regions are read.
  virtual std::string RegionsDigest() const { return ""; }

  // Changes whenever the item may have: FileVersion of where it lies.  Nothing is read.
  virtual std::string PictureVersion(const CorpusItem& item) const;
};

// Of published_place: what any program's JSON has exactly.
inline constexpr int64_t kMaxPublishedPlace = int64_t{1} << 53;

// Half of what the store takes: a caption's id is longer than its image's.
inline constexpr int kMaxCorpusItemIdBytes = limits::kMaxItemIdBytes / 2;
inline constexpr int kMaxCaptionBytes = 4096;
inline constexpr int kMaxCaptionsPerItem = 1000;

// InvalidArgument unless `id` has 1 to kMaxCorpusItemIdBytes bytes of UTF-8 and no control
// characters.
absl::Status CheckItemId(absl::string_view id);

// `<image id>#<language>-<n>`; `n` counts the image's captions in that language from 1.
std::string CaptionId(absl::string_view image_id, absl::string_view language, int n);

// `text` without white space at its ends and with each run of white space and control
// characters inside turned into one space.  Empty if it is not UTF-8 or longer than
// kMaxCaptionBytes: then it is no caption.
std::string CleanCaption(absl::string_view text);

// Gives an item to `sink` as readers do: without empty, over-long and surplus tags and OCR
// tokens, or as rejected, if its id does not pass CheckItemId.
absl::Status GiveItem(CorpusItem item, ListingSink& sink);

// Whether an error of ReadPicture or ReadRegions says something of the item, not of the machine.
bool BlamesPicture(const absl::Status& status);

// A file as a picture's bytes, with the errors of CorpusReader::ReadPicture.
absl::StatusOr<std::string> ReadPictureFile(absl::string_view path, int64_t max_bytes);

// Size, times of modification and of change, and whether it is to be read: as text; empty if
// there is no file.  The time of change is nobody's to set, so that a file that was replaced
// by one of equal size and age is told from it; it also differs between copies.
std::string FileVersion(absl::string_view path);

// Whether captions in `language` are wanted; an empty list wants all.
bool WantsLanguage(const std::vector<std::string>& languages, absl::string_view language);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_DATASET_CORPUS_H_
