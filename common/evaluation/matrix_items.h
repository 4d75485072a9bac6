// What the rows and columns of a score matrix are: images, and captions of them.
#ifndef SIGHTLINE_COMMON_EVALUATION_MATRIX_ITEMS_H_
#define SIGHTLINE_COMMON_EVALUATION_MATRIX_ITEMS_H_

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"

namespace sightline {

struct MatrixCaption {
  std::string id;
  int image = 0;  // the row that it belongs to, the only image that is right for it
  std::string language;
  // Words that it shares with the text in its image; nothing: not counted.
  absl::optional<int> shared_words = absl::nullopt;
};

// A value.
struct MatrixItems {
  std::vector<std::string> images;  // ids, row by row
  std::vector<int> families;        // of each image, from 0; families are what is resampled
  int family_count = 0;
  // Of each image its place in the order in which its set was published, none twice; empty: not
  // known.
  std::vector<int64_t> places;
  std::vector<MatrixCaption> captions;  // column by column

  // Each language that a caption has, sorted.
  std::vector<std::string> Languages() const;
};

// A JSON object a line, an image's {"image": "coco/1", "family": "f", "place": 0} or a caption's
// {"caption": "coco/1#en-1", "image": "coco/1", "language": "en", "shared_words": 2}, images in the
// order of rows and captions in that of columns.  An image without a family is one of its own;
// places and counts of words may be missing.  Other keys are passed over.
// InvalidArgument, naming the line, for anything malformed, an id that stands there twice and a
// caption whose image does not stand above it; and for a file without images or captions, with
// places of some images alone, or with one of two.
absl::StatusOr<MatrixItems> ParseMatrixItems(absl::string_view text);

// As ParseMatrixItems reads it.  A family has the name of its first image.
std::string FormatMatrixItems(const MatrixItems& items);

// SHA-256 in hex over the ids, in their order, and whose each caption is: what a matrix's rows and
// columns are, whatever else is known of them.
std::string ItemsDigest(const MatrixItems& items);

// Makes families of images by a list, "image TAB family" a line; one that it does not name is a
// family of its own.  Names may be of images that are no rows: a list is of a set, a matrix of a
// part.  Blank lines are passed over.  InvalidArgument, with the line, for one that is no such
// pair, an id that is too long or an image that stands there twice; and for a list that names no
// row.
absl::Status TakeFamilies(absl::string_view text, MatrixItems* items);

// The row of each image by its id.
std::unordered_map<std::string, int> RowsById(const MatrixItems& items);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_EVALUATION_MATRIX_ITEMS_H_
