// Going through the items of a vectors file in the order of their ids.
#ifndef SIGHTLINE_COMMON_BUNDLE_VECTORS_READER_H_
#define SIGHTLINE_COMMON_BUNDLE_VECTORS_READER_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "common/bundle/container.h"
#include "common/bundle/offsets.h"
#include "common/bundle/section_reader.h"
#include "common/bundle/vectors_file.h"

namespace sightline {

// Everything is read from the file when it is asked for, and compared each time: DataLoss
// (CHECKSUM_MISMATCH), naming the file, for what has changed since it was written, Unavailable
// for what cannot be read (container.h), DataLoss for offsets that lie.
//
// Holds two pieces of a section (section_reader.h), of those that were asked for, and nothing an
// item.  Cheap where rows, or ids, come in order; any other order works.  For one thread.
class VectorsReader {
 public:
  // `file` outlives the reader.
  explicit VectorsReader(const VectorsFile& file, int64_t keep = Container::kBlockBytes);

  // Row of the item, or -1.
  absl::StatusOr<int64_t> Find(absl::string_view item_id);

  // Of a row that is there, 0 <= row < size of the file, whatever it is stored as.  `to` has as
  // many numbers as the dimension is.
  absl::Status Embedding(int64_t row, absl::Span<float> to);
  // Likewise; it lives until the next call.  Empty in a file without content hashes.
  absl::StatusOr<absl::string_view> ContentHash(int64_t row);

 private:
  absl::StatusOr<absl::string_view> ItemId(int64_t row);
  absl::StatusOr<int64_t> LowerBound(absl::string_view item_id);

  const VectorsFile* file_;
  OffsetReader id_offsets_;
  SectionReader ids_;
  SectionReader embeddings_;
  absl::optional<SectionReader> content_hashes_;
  int64_t near_ = 0;  // where the last look-up ended
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_BUNDLE_VECTORS_READER_H_
