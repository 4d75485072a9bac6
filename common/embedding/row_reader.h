// Rows of a matrix that lies on a disk.
#ifndef SIGHTLINE_COMMON_EMBEDDING_ROW_READER_H_
#define SIGHTLINE_COMMON_EMBEDDING_ROW_READER_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"

namespace sightline {

// Thread-safe.
class RowReader {
 public:
  virtual ~RowReader() = default;

  // Copies these rows, which are there, as they are stored but without padding, one after another
  // to `to`.  Cheapest where they ascend.  DataLoss (CHECKSUM_MISMATCH) for a row that is not what
  // was loaded, Unavailable (READ_FAILED) for one that cannot be read.
  virtual absl::Status Read(absl::Span<const int64_t> rows, char* to) const = 0;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_EMBEDDING_ROW_READER_H_
