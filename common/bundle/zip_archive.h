// Zip archives of members that are stored, not compressed: their bytes are used in place.
//
// That is what torch.save writes since PyTorch 1.6.  Archives beyond 4 GB (zip64) are
// read; encrypted, compressed and multi-disk ones are not.
#ifndef SIGHTLINE_COMMON_BUNDLE_ZIP_ARCHIVE_H_
#define SIGHTLINE_COMMON_BUNDLE_ZIP_ARCHIVE_H_

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sightline {

// Members by name, as views into `bytes`.  The central directory decides; each member's
// local header must agree with it on the name.
//
// DataLoss: no central directory, or an offset, a length or a count that does not fit the
// file; two members of one name; checksums are not compared.  FailedPrecondition, naming
// the member: compressed or encrypted.
absl::StatusOr<std::map<std::string, absl::string_view>> ReadStoredZip(absl::string_view bytes);

// Whether `bytes` begins as a zip archive does.
bool LooksLikeZip(absl::string_view bytes);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_BUNDLE_ZIP_ARCHIVE_H_
