// Reads pictures and hashes them.
#ifndef SIGHTLINE_SERVICES_CORPUS_ENCODER_PICTURE_SCANNER_H_
#define SIGHTLINE_SERVICES_CORPUS_ENCODER_PICTURE_SCANNER_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/base/call_context.h"
#include "common/log/progress.h"
#include "services/corpus_encoder/corpus_scan.h"
#include "services/corpus_encoder/scan_file.h"

namespace sightline {

// Whether an error of reading says something of the picture, not of the machine.
bool BlamesPicture(const absl::Status& status);

// Reads `pictures` on the threads that `options` gives, each picture an Advance of
// `progress`.  Trouble of the machine is an error, trouble with a picture a reason.
absl::StatusOr<PictureScan> ScanPictures(absl::Span<const ScannedPicture> pictures,
                                         const ScanOptions& options, const CallContext& call,
                                         Progress* progress);

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_CORPUS_ENCODER_PICTURE_SCANNER_H_
