// What the rows and columns of a score matrix are: images, and captions of them.
#ifndef SIGHTLINE_COMMON_EVALUATION_MATRIX_ITEMS_H_
#define SIGHTLINE_COMMON_EVALUATION_MATRIX_ITEMS_H_

#include <string>
#include <unordered_map>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sightline {

struct MatrixCaption {
  std::string id;
  int image = 0;  // the row that it belongs to, the only image that is right for it
  std::string language;
};

// A value.
struct MatrixItems {
  std::vector<std::string> images;  // ids, row by row
  std::vector<int> families;        // of each image, from 0; families are what is resampled
  int family_count = 0;
  std::vector<MatrixCaption> captions;  // column by column

  // Each language that a caption has, sorted.
  std::vector<std::string> Languages() const;
};

// A JSON object a line, an image's {"image": "coco/1", "family": "f"} or a caption's {"caption":
// "coco/1#en-1", "image": "coco/1", "language": "en"}, images in the order of rows and captions in
// that of columns.  An image without a family is one of its own.  Other keys are passed over.
// InvalidArgument, naming the line, for anything malformed, an id that stands there twice and a
// caption whose image does not stand above it; and for a file without images or captions.
absl::StatusOr<MatrixItems> ParseMatrixItems(absl::string_view text);

// The row of each image by its id.
std::unordered_map<std::string, int> RowsById(const MatrixItems& items);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_EVALUATION_MATRIX_ITEMS_H_
