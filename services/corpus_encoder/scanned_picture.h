// One item of a corpus on its way through the job, and many of them on disk.
#ifndef SIGHTLINE_SERVICES_CORPUS_ENCODER_SCANNED_PICTURE_H_
#define SIGHTLINE_SERVICES_CORPUS_ENCODER_SCANNED_PICTURE_H_

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/dataset/corpus.h"
#include "services/corpus_encoder/byte_reader.h"

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

// Pictures as bytes.
class PictureCodec {
 public:
  // A picture's reader is kept as its place among `readers`, which must outlive what is read
  // back; null is kept, too.
  explicit PictureCodec(absl::Span<const std::unique_ptr<CorpusReader>> readers);

  void Append(const ScannedPicture& picture, std::string* bytes) const;
  // False if the bytes are not what Append has made.
  bool Read(ByteReader& bytes, ScannedPicture* picture) const;

 private:
  std::vector<const CorpusReader*> readers_;
};

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_CORPUS_ENCODER_SCANNED_PICTURE_H_
