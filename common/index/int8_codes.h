// The file of kind "flat_int8": the rows of a shard in int8, with what the scores that they tell
// may be off by.
//
// A container with the sections, of n rows of dimension d:
//
//   codes    int8 [n, Int8RowBytes(d)]   as common/kernels/int8_rows.h encodes them
//   scales   float32 [n]                 finite, not negative
//   errors   float32 [n]                 not negative; infinite for a row that is not finite
//   lengths  float32 [n]                 not negative
//
// That a row's error is as large as it has to be is what a search is exact by, and nothing but the
// file's checksums vouches for it.
#ifndef SIGHTLINE_COMMON_INDEX_INT8_CODES_H_
#define SIGHTLINE_COMMON_INDEX_INT8_CODES_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/base/call_context.h"
#include "common/bundle/container.h"
#include "common/index/index_kind.h"
#include "common/index/vector_index.h"

namespace sightline {

// A shard's rows in int8, in memory.  Immutable; copies share the memory.
class Int8Codes {
 public:
  // Reads and compares the file at `path`, of `rows` rows of `dimension` numbers.  DataLoss
  // (CONTENT_INVALID, CHECKSUM_MISMATCH) if it is not such a file, and as Container::Open and Load.
  static absl::StatusOr<Int8Codes> Load(absl::string_view path, int64_t rows, int dimension,
                                        const CallContext& call);

  int64_t rows() const { return rows_; }
  // From row to row.
  int64_t row_bytes() const { return row_bytes_; }
  const int8_t* row(int64_t i) const {
    return reinterpret_cast<const int8_t*>(codes_.data()) + i * row_bytes_;
  }

  // Of each row, as Int8RowScale.
  const float* scales() const { return reinterpret_cast<const float*>(scales_.data()); }
  const float* errors() const { return reinterpret_cast<const float*>(errors_.data()); }
  const float* lengths() const { return reinterpret_cast<const float*>(lengths_.data()); }

 private:
  absl::Status CheckNumbers(absl::string_view path) const;

  int64_t rows_ = 0;
  int64_t row_bytes_ = 0;
  SectionBytes codes_;
  SectionBytes scales_;
  SectionBytes errors_;
  SectionBytes lengths_;
};

// Bytes that it keeps; INT64_MAX if they are more than that.
int64_t Int8CodesBytes(int64_t rows, int dimension);

// Writes it to `path`, as one pass over the rows of `build` encodes them.  Equal rows give equal
// files.  The build's call's own status if it ends before; as RowReader::Read.
absl::StatusOr<ContainerWriter::Summary> WriteInt8Codes(const IndexBuild& build,
                                                        absl::string_view path);
// Bytes that this takes in memory.
int64_t Int8WriteBytes(int64_t rows, int dimension);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_INDEX_INT8_CODES_H_
