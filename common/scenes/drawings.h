// The drawings of Sightline Scenes: which they are, and reading them from Debian's packages.
//
// drawings.txt names a drawing a line: noun, item id, and the SHA-256 of its pixels (raster.h),
// decoded and cropped to what is not transparent.  A noun's drawings follow each other, the last
// one held out.  The hashes are the lock: a package that brings other pixels is noticed before
// a picture is made of them.
#ifndef SIGHTLINE_COMMON_SCENES_DRAWINGS_H_
#define SIGHTLINE_COMMON_SCENES_DRAWINGS_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/dataset/corpus.h"
#include "common/scenes/drawing_set.h"

namespace sightline {

// A line of drawings.txt.
struct LockedDrawing {
  absl::string_view noun;
  absl::string_view item_id;
  absl::string_view sha256;
};

// All of drawings.txt, in its order.  Lasts as long as the process.
absl::Span<const LockedDrawing> LockedDrawings();

// The number in LockedDrawings() of drawing `place` of `noun`, from 0; -1 if there is none.
int DrawingNumber(absl::string_view noun, int place);

// Stamps and clip art as folders of files, where Debian's packages put them: their pictures are
// wanted, not their captions, for which thousands of SVGs would be read.  FailedPrecondition, which
// names the packages, where a folder is not there.
absl::StatusOr<std::vector<std::unique_ptr<CorpusReader>>> OpenDrawingCorpora();

// Reads `drawings` through `corpora`, where their ids end in ".png", and scales them to `sides`.
// FailedPrecondition names every drawing that is not there, does not decode, or has other pixels
// than its hash says, and the packages; otherwise as CorpusReader::List.
absl::StatusOr<DrawingSet> ReadDrawings(absl::Span<const LockedDrawing> drawings,
                                        absl::Span<const std::unique_ptr<CorpusReader>> corpora,
                                        std::vector<int> sides);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_SCENES_DRAWINGS_H_
