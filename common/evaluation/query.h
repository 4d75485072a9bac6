// The queries of an evaluation.
#ifndef SIGHTLINE_COMMON_EVALUATION_QUERY_H_
#define SIGHTLINE_COMMON_EVALUATION_QUERY_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace sightline {

enum class Direction {
  kTextToImage,  // a caption looks for pictures
  kImageToText,  // a stored picture looks for captions
};

// "text_to_image", "image_to_text".
inline absl::string_view DirectionName(Direction direction) {
  return direction == Direction::kTextToImage ? "text_to_image" : "image_to_text";
}

// A captioned picture, or one of its captions, as a query.  A value.
struct EvaluationQuery {
  std::string item_id;    // of the picture
  std::string text;       // the caption that asks; of a picture its first one
  std::vector<int> keys;  // what it looks for; see relevance.h.  Sorted.
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_EVALUATION_QUERY_H_
