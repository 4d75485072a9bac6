// The scan of a corpus by several workers, each picture read by one of them.
//
// All list the corpus and cut the listing into stretches of kScanStretch pictures.  A
// worker reads its stretches and leaves what it found in the work folder, where the others
// wait for it: `<hash>.scan`, a container (common/bundle/container.h) with the section
//
//   scan   bytes, JSON: {"hash", "pictures": [sha256 or {"rejected": reason}...]}
//
// named by the hash of the stretch: ids, paths and versions (CorpusReader::PictureVersion) of
// its pictures.  So a worker that was killed reads one stretch again at most, and what
// an earlier run has left is used only while no file of the stretch has changed.
#ifndef SIGHTLINE_SERVICES_CORPUS_ENCODER_SCAN_SHARE_H_
#define SIGHTLINE_SERVICES_CORPUS_ENCODER_SCAN_SHARE_H_

#include <cstddef>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/base/call_context.h"
#include "common/log/progress.h"
#include "services/corpus_encoder/corpus_scan.h"
#include "services/corpus_encoder/picture_scanner.h"

namespace sightline {

inline constexpr size_t kScanStretch = 256;

// Reads the stretches that are this worker's and waits for the others.  Errors as
// ScanPictures and AwaitPieces have them; DataLoss for a file that is damaged, naming the
// worker that makes it again.
absl::StatusOr<PictureScan> ScanTogether(absl::Span<const ScannedPicture> listed,
                                         const ScanOptions& options, const CallContext& call,
                                         Progress* progress);

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_CORPUS_ENCODER_SCAN_SHARE_H_
