// What was found when a stretch of the listing was read, for other workers and later runs.
//
// A container (common/bundle/container.h) with the section
//
//   scan   bytes, JSON: {"hash", "pictures": [sha256 or {"rejected": reason}...]}
//
// named by the hash of the stretch: ids, paths and versions (CorpusReader::PictureVersion) of
// its pictures.  So it is used only while no file of the stretch has changed.
#ifndef SIGHTLINE_SERVICES_CORPUS_ENCODER_SCAN_FILE_H_
#define SIGHTLINE_SERVICES_CORPUS_ENCODER_SCAN_FILE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "services/corpus_encoder/scanned_picture.h"

namespace sightline {

// One entry a picture.
struct PictureScan {
  std::vector<std::string> sha256;   // empty where there is a reason
  std::vector<std::string> reasons;  // why a picture cannot be read; empty if it can
  int64_t byte_count = 0;            // of what was read now
};

// 64 hex digits.  `max_picture_bytes` is the limit beyond which a picture is not read.
std::string StretchHash(absl::Span<const ScannedPicture> stretch, int64_t max_picture_bytes);

absl::Status WriteScanFile(const std::string& path, absl::string_view hash,
                           const PictureScan& scan);

// DataLoss for a file that is damaged or holds something else than `count` pictures of the
// stretch; NotFound; Unavailable (READ_FAILED), and so on.
absl::StatusOr<PictureScan> ReadScanFile(const std::string& path, absl::string_view hash,
                                         size_t count);

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_CORPUS_ENCODER_SCAN_FILE_H_
