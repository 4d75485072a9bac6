// Region features as SCAN and its successors keep them (`_precomp`), split by split:
//
//   <split>_ims.npy    images x regions x numbers, floats in C order
//   <split>_caps.txt   captions, one a line: five for each image, in order, or one for each
//
// The item id is `<split>/<row>`, the row counted from 0.  There are no boxes and no
// confidences.
#ifndef SIGHTLINE_COMMON_DATASET_PRECOMP_READER_H_
#define SIGHTLINE_COMMON_DATASET_PRECOMP_READER_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/dataset/corpus.h"

namespace sightline {

// What the names of its arrays end in.
inline constexpr absl::string_view kPrecompSuffix = "_ims.npy";

struct PrecompOptions {
  std::string root;       // a folder: all of its splits; or one split's `_ims.npy`
  std::string id_prefix;  // put before each item id
  std::vector<std::string> languages = {"en"};  // captions are English; empty reads them
};

// Maps the arrays now: NotFound if they are not there, InvalidArgument for one that is no such
// array, for a folder without one, and for splits of different widths.  List: NotFound when a
// split has no captions, InvalidArgument when they are neither as many as images nor five times
// that; a caption that is empty or not UTF-8 is left out, with a warning.
absl::StatusOr<std::unique_ptr<CorpusReader>> NewPrecompReader(const PrecompOptions& options);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_DATASET_PRECOMP_READER_H_
