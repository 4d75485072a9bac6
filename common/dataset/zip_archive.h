// ZIP archives from strangers, as numpy writes them: entries stored or deflated, no ZIP64,
// no encryption.
//
// The central directory is what is read; the local headers are asked only how long they are
// themselves, since those of numpy leave the sizes open.
#ifndef SIGHTLINE_COMMON_DATASET_ZIP_ARCHIVE_H_
#define SIGHTLINE_COMMON_DATASET_ZIP_ARCHIVE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sightline {

struct ZipEntry {
  std::string name;
  int method = 0;            // 0: stored, 8: deflated
  int64_t stored_bytes = 0;  // in the archive
  int64_t byte_count = 0;    // once inflated, as the archive says
  uint32_t crc32 = 0;
  int64_t header_offset = 0;  // of the local header
  bool encrypted = false;
};

// A view; the bytes must outlive it.  Thread-safe.
class ZipArchive {
 public:
  // InvalidArgument if `bytes` are no ZIP archive, are truncated, or hold a number that does
  // not fit them.  Entries that nobody reads are not looked at.
  static absl::StatusOr<ZipArchive> Parse(absl::string_view bytes);

  const std::vector<ZipEntry>& entries() const { return entries_; }
  // The first of that name; null if there is none.
  const ZipEntry* Find(absl::string_view name) const;

  // The content of one of the entries.  InvalidArgument: it is encrypted, compressed in
  // another way, damaged, longer than `max_bytes`, or not as long as it says.  Takes no more
  // memory than the content has, and that only when so many bytes can come of what is stored.
  absl::StatusOr<std::string> Read(const ZipEntry& entry, int64_t max_bytes) const;

 private:
  absl::StatusOr<absl::string_view> StoredBytes(const ZipEntry& entry) const;

  absl::string_view bytes_;
  std::vector<ZipEntry> entries_;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_DATASET_ZIP_ARCHIVE_H_
