// Reads, decodes and squares all pictures of a corpus, on threads of its own.
//
// Two things bound memory: what is being decoded at one time, at kBytesPerPixel a pixel,
// stays below `max_decode_bytes` (a picture that is larger by itself is decoded alone),
// and what is done is handed on at once.
#ifndef SIGHTLINE_SERVICES_TRAINER_PICTURE_SQUARER_H_
#define SIGHTLINE_SERVICES_TRAINER_PICTURE_SQUARER_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/base/call_context.h"
#include "common/dataset/corpus.h"
#include "common/dataset/near_duplicates.h"
#include "common/image/decode.h"
#include "common/log/progress.h"

namespace sightline {

// An item and whom to ask for its picture.
struct ListedPicture {
  const CorpusReader* reader = nullptr;
  CorpusItem item;
  bool companion = false;  // no index will hold it: it is there to be learnt from
};

struct SquaringOptions {
  int threads = 1;
  int64_t image_size = 0;
  DecodeLimits limits;
  int64_t max_decode_bytes = int64_t{512} << 20;
};

// What became of one picture.
struct SquaredPicture {
  PictureFingerprint fingerprint;
  std::string problem;  // why there is none; empty if there is
};

// Three bytes of the result, and what decoders hold beside it.
inline constexpr int64_t kBytesPerPixel = 8;

// Gives the bytes of each good picture (see SquareBytes) to `store`, one at a time, in any
// order, and returns what became of each, in order.  A bad picture (no picture, truncated,
// over the limits, not to be read) is a problem of its own; trouble of the machine ends it
// all: what a reader or `store` returned, Cancelled when the call is.
absl::StatusOr<std::vector<SquaredPicture>> SquarePictures(
    absl::Span<const ListedPicture> pictures, const SquaringOptions& options,
    const std::function<absl::Status(int64_t index, absl::string_view bytes)>& store,
    const CallContext& call, Progress* progress);

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_TRAINER_PICTURE_SQUARER_H_
