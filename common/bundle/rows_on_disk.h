// The embeddings of a vectors file where they lie, for those who want a few at a time.
#ifndef SIGHTLINE_COMMON_BUNDLE_ROWS_ON_DISK_H_
#define SIGHTLINE_COMMON_BUNDLE_ROWS_ON_DISK_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/base/call_context.h"
#include "common/bundle/vectors_file.h"
#include "common/embedding/row_reader.h"

namespace sightline {

// Holds four bytes a row: its CRC32C, which each row that is read is compared with.  Those come
// from a pass over the file that compares the file's own checksums, of whole MiBs.  Immutable,
// thread-safe.
class RowsOnDisk : public RowReader {
 public:
  // Reads all embeddings once, and looks at them (VectorsFile::CheckEmbedding).  `file` outlives
  // the rows.  Errors as Container::Read; the call's own if it ends before.
  static absl::StatusOr<std::unique_ptr<RowsOnDisk>> Load(const VectorsFile& file,
                                                          const CallContext& call);

  // What the system has in memory is copied from there; all the rest it is told of at once, so that
  // the device reads in parallel, and is then waited for.  Rows that follow each other are one
  // read.  A row that differs is read again, past what the system has in memory, and is damage
  // only if it differs then, too.
  absl::Status Read(absl::Span<const int64_t> rows, char* to) const override;

  int64_t byte_count() const {
    return static_cast<int64_t>(checksums_.capacity() * sizeof(uint32_t));
  }
  // The same before it is loaded.
  static int64_t ByteCount(int64_t rows) { return rows * static_cast<int64_t>(sizeof(uint32_t)); }

 private:
  // Rows that follow each other in the file, and where in the answer they go.
  struct Stretch {
    int64_t first = 0;
    int64_t count = 0;
    char* to = nullptr;
  };

  explicit RowsOnDisk(const VectorsFile& file) : file_(&file) {}
  std::vector<Stretch> StretchesOf(absl::Span<const int64_t> rows, char* to) const;
  bool ReadCached(const Stretch& stretch) const;
  absl::Status ReadFromDisk(const Stretch& stretch) const;
  bool Matches(int64_t row, const char* bytes) const;
  absl::Status Compare(const Stretch& stretch) const;

  const VectorsFile* const file_;
  std::vector<uint32_t> checksums_;  // of each row, without its padding
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_BUNDLE_ROWS_ON_DISK_H_
