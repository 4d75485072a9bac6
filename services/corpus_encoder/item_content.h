// An item of a corpus, read: the bytes of a picture, or regions.
#ifndef SIGHTLINE_SERVICES_CORPUS_ENCODER_ITEM_CONTENT_H_
#define SIGHTLINE_SERVICES_CORPUS_ENCODER_ITEM_CONTENT_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "common/image/image_input.h"
#include "services/corpus_encoder/scanned_picture.h"

namespace sightline {

struct ItemContent {
  std::string picture;  // the encoded picture, if it is one
  ImageInput image;     // if it is not: regions, with the item's OCR tokens and tags
  int64_t byte_count = 0;
  // Of the picture's bytes; or of the regions' numbers, whatever file they come from.
  std::string sha256;
};

// Reads at most `max_bytes`; regions are counted as floats.  Errors as CorpusReader has them.
absl::StatusOr<ItemContent> ReadContent(const ScannedPicture& picture, int64_t max_bytes);

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_CORPUS_ENCODER_ITEM_CONTENT_H_
