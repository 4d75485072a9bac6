// Readers by name, as a configuration file or a command line has them.
//
//   stamps
//   folder:/data/photos
//   karpathy:/data/dataset_coco.json,images=/data/coco,splits=test
//   karpathy:/data/dataset_coco.json,regions=npz:/data/npz,region_id=coco_{folder}_{id:012}
#ifndef SIGHTLINE_COMMON_DATASET_OPEN_CORPUS_H_
#define SIGHTLINE_COMMON_DATASET_OPEN_CORPUS_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/dataset/corpus.h"

namespace sightline {

enum class CorpusKind {
  kFolder,
  kStamps,
  kClipArt,
  kEmoji,
  kRegions,
  kNpz,
  kPrecomp,
  // Published sets (published_reader.h):
  kKarpathy,
  kCoco,
  kFlickr,
  kMulti30k,
  kTextCaps,
};

// "folder", "stamps", "clipart", "emoji", "regions", "npz", "precomp", "karpathy", "coco",
// "flickr", "multi30k", "textcaps".
absl::string_view CorpusKindName(CorpusKind kind);
absl::StatusOr<CorpusKind> ParseCorpusKind(absl::string_view name);
// All of them, in this order.
std::vector<std::string> CorpusKindNames();
// Whether it is a published set.
bool IsPublished(CorpusKind kind);

// Of published sets only; published_reader.h explains each.
struct PublishedSpec {
  std::string images, ocr;
  std::string caption_language = "en";
  std::vector<std::string> splits;
  int captions_per_picture = 5;
  std::string regions;  // "npz:PATH": a corpus of regions, as ParseCorpus reads it; empty: none
  std::string region_id = "{id}";
};

// One corpus and where it lies.  An empty path means the place where Debian's package
// puts it; what is the user's own has no such place.
struct CorpusSpec {
  CorpusKind kind = CorpusKind::kFolder;
  std::string root;         // folder, npz and stamps: the folder; clipart: of the PNGs; emoji:
                            // the font; regions and precomp: a folder, or a file of it;
                            // published sets: the file, or Multi30k's folder
  std::string annotations;  // clipart: folder of the SVGs; emoji: of CLDR's annotations;
                            // folder and npz: the caption file
  std::string id_prefix;    // of the user's own only
  std::vector<std::string> languages = {"en"};  // which captions to read
  PublishedSpec published;
};

// Keys of what a published set has beside its path: "images", "splits", ...
absl::Span<const absl::string_view> PublishedKeys();

// Sets what one of PublishedKeys names to what `value` says; several splits have "+" between.
// InvalidArgument: another key, or a value that it cannot have.
absl::Status SetPublished(absl::string_view key, absl::string_view value, CorpusSpec& spec);

// "KIND[:PATH]", and of a published set "KIND:PATH[,KEY=VALUE]...".  InvalidArgument: an unknown
// kind or key.
absl::StatusOr<CorpusSpec> ParseCorpus(absl::string_view text);

// Several with commas between, where no path has one.
absl::StatusOr<std::vector<CorpusSpec>> ParseCorpora(absl::string_view text);

// InvalidArgument when the user's own has no `root`, another kind an `id_prefix`, or `regions`
// are no corpus of regions; then as the reader's own factory.
absl::StatusOr<std::unique_ptr<CorpusReader>> OpenCorpus(const CorpusSpec& spec);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_DATASET_OPEN_CORPUS_H_
