// One item of a corpus on its way through the job.
#ifndef SIGHTLINE_SERVICES_CORPUS_ENCODER_SCANNED_PICTURE_H_
#define SIGHTLINE_SERVICES_CORPUS_ENCODER_SCANNED_PICTURE_H_

#include <string>
#include <tuple>

#include "common/dataset/corpus.h"

namespace sightline {

// One picture that could be read.
struct ScannedPicture {
  const CorpusReader* reader = nullptr;
  CorpusItem item;
  std::string sha256;  // of the encoded picture, or of the regions (item_content.h), hex
  // The work folder's file that says so; the same for its neighbours.
  std::string scan;
};

// Whether it is no picture, but what a detector has found in one.
inline bool HasRegions(const ScannedPicture& picture) {
  return picture.reader != nullptr && picture.reader->region_feature_size() > 0;
}

inline auto FieldsOf(CorpusCaption& caption) {
  return std::tie(caption.language, caption.text);
}

inline auto FieldsOf(ScannedPicture& picture) {
  CorpusItem& item = picture.item;
  return std::tie(picture.reader, item.item_id, item.path, picture.sha256, picture.scan,
                  item.captions, item.tags, item.ocr_tokens);
}

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_CORPUS_ENCODER_SCANNED_PICTURE_H_
