// ZIP archives from strangers, as torch.save and numpy write them: members stored or
// deflated, of any size (ZIP64).
//
//   ASSIGN_OR_RETURN(const ZipArchive archive, ZipArchive::Parse(bytes));
//   const ZipMember* member = archive.Find("features.npy");
//   ASSIGN_OR_RETURN(std::string content, member->Read(kMaxBytes));
//
// The central directory is what is believed, once it fits the file.  Each member's local
// header must agree on name, method and encryption; the sizes there are not asked, since
// writers of streams leave them open.
#ifndef SIGHTLINE_COMMON_FORMATS_ZIP_ARCHIVE_H_
#define SIGHTLINE_COMMON_FORMATS_ZIP_ARCHIVE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sightline {

// Views into the archive's bytes, which must outlive it.
struct ZipMember {
  absl::string_view name;  // any bytes
  absl::string_view raw;   // as it lies in the archive
  bool deflated = false;   // otherwise `raw` is the content
  int64_t byte_count = 0;  // of the content, as the archive says
  uint32_t crc32 = 0;      // the same

  // The content in place.  FailedPrecondition if it is deflated.  No checksum is compared,
  // which would read all of it: CheckStored does, when it is about to be read anyway.
  absl::StatusOr<absl::string_view> Stored() const;

  // DataLoss unless `raw`, which is stored, has the archive's checksum.
  absl::Status CheckStored() const;

  // A copy of the content, its checksum compared.  Takes no more memory than the content,
  // which is at most 1040 times as long as `raw`.  ResourceExhausted: longer than
  // `max_bytes`.  DataLoss: damaged, or not as long as it says.
  absl::StatusOr<std::string> Read(int64_t max_bytes) const;
};

// A view; the bytes must outlive it.  Immutable, thread-safe.
class ZipArchive {
 public:
  // DataLoss: no archive, a truncated one, a number that does not fit the file, headers
  // that disagree, two members of one name.  FailedPrecondition, telling what to do: a part
  // of a divided archive, a member that is encrypted or compressed in another way.
  static absl::StatusOr<ZipArchive> Parse(absl::string_view bytes);

  // In the bytewise order of their names.
  const std::vector<ZipMember>& members() const { return members_; }
  // Null if there is none of that name.
  const ZipMember* Find(absl::string_view name) const;

 private:
  std::vector<ZipMember> members_;
};

// Whether `bytes` begins as a ZIP archive does.
bool LooksLikeZip(absl::string_view bytes);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_FORMATS_ZIP_ARCHIVE_H_
