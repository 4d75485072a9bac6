// Reads pictures and hashes them.
#ifndef SIGHTLINE_SERVICES_CORPUS_ENCODER_PICTURE_SCANNER_H_
#define SIGHTLINE_SERVICES_CORPUS_ENCODER_PICTURE_SCANNER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "common/base/call_context.h"
#include "common/log/progress.h"
#include "services/corpus_encoder/corpus_scan.h"

namespace sightline {

// What was found, one entry a picture.
struct PictureScan {
  std::vector<std::string> sha256;   // empty where there is a reason
  std::vector<std::string> reasons;  // why a picture cannot be read; empty if it can
  int64_t byte_count = 0;            // of what was read now
  int64_t read_count = 0;            // pictures that were
  absl::Duration await_time;         // for other workers
  std::vector<std::string> files;    // of the work folder that it is in, if it is
};

// Whether an error of reading says something of the picture, not of the machine.
bool BlamesPicture(const absl::Status& status);

// Reads `pictures` on the threads that `options` gives, each picture an Advance of
// `progress`.  Trouble of the machine is an error, trouble with a picture a reason.
absl::StatusOr<PictureScan> ScanPictures(absl::Span<const ScannedPicture> pictures,
                                         const ScanOptions& options, const CallContext& call,
                                         Progress* progress);

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_CORPUS_ENCODER_PICTURE_SCANNER_H_
