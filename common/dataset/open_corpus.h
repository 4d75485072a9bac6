// Readers by name, as a configuration file has them.
#ifndef SIGHTLINE_COMMON_DATASET_OPEN_CORPUS_H_
#define SIGHTLINE_COMMON_DATASET_OPEN_CORPUS_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/dataset/corpus.h"

namespace sightline {

enum class CorpusKind { kFolder, kStamps, kClipArt, kEmoji, kRegions, kNpz, kPrecomp };

// "folder", "stamps", "clipart", "emoji", "regions", "npz", "precomp".
absl::string_view CorpusKindName(CorpusKind kind);
absl::StatusOr<CorpusKind> ParseCorpusKind(absl::string_view name);

// One corpus and where it lies.  An empty path means the place where Debian's package
// puts it; what is the user's own has no such place.
struct CorpusSpec {
  CorpusKind kind = CorpusKind::kFolder;
  std::string root;         // folder, npz and stamps: the folder; clipart: of the PNGs; emoji:
                            // the font; regions and precomp: a folder, or a file of it
  std::string annotations;  // clipart: folder of the SVGs; emoji: of CLDR's annotations;
                            // folder and npz: the caption file
  std::string id_prefix;    // folder, regions, npz and precomp only
  std::vector<std::string> languages = {"en"};  // which captions to read
};

// InvalidArgument when the user's own has no `root`, or another kind an `id_prefix`; then as
// the reader's own factory.
absl::StatusOr<std::unique_ptr<CorpusReader>> OpenCorpus(const CorpusSpec& spec);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_DATASET_OPEN_CORPUS_H_
