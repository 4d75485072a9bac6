// A picture as the training set keeps it.
#ifndef SIGHTLINE_SERVICES_TRAINER_SQUARE_PICTURE_H_
#define SIGHTLINE_SERVICES_TRAINER_SQUARE_PICTURE_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "common/image/image_input.h"

namespace sightline {

// `pixels` on a white square of `side` pixels, as SquarePicture lays it, each number
// rounded to 0 to 255: planes R, G and B, 3 * side * side bytes.  What a server computes
// from the same picture differs by at most half a step of 255.
//
// InvalidArgument for malformed pixels; ResourceExhausted when memory runs out.
absl::StatusOr<std::string> SquareBytes(const Pixels& pixels, int64_t side);

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_TRAINER_SQUARE_PICTURE_H_
