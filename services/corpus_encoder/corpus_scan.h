// The first pass over a corpus: what there is, and the SHA-256 of every picture.
//
// Pictures are read twice, here and when they are decoded.  In return all work is known
// before any begins: which units are done already, how long the rest will take, and the
// name of the generation.
//
// The listing is cut into stretches of some hundred pictures, by the ids themselves
// (id_cuts.h), so that one that comes or goes costs its own stretch.  What was found in a
// stretch is left in the work folder (scan_file.h): of several workers each reads its part
// and waits for the others, and a run that was killed reads one stretch again at most.
#ifndef SIGHTLINE_SERVICES_CORPUS_ENCODER_CORPUS_SCAN_H_
#define SIGHTLINE_SERVICES_CORPUS_ENCODER_CORPUS_SCAN_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/call_context.h"
#include "common/base/spool.h"
#include "common/dataset/corpus.h"
#include "common/log/progress.h"
#include "services/corpus_encoder/corpus_listing.h"
#include "services/corpus_encoder/job_options.h"
#include "services/corpus_encoder/quarantine.h"
#include "services/corpus_encoder/scanned_picture.h"
#include "services/corpus_encoder/work_await.h"
#include "services/corpus_encoder/work_folder.h"

namespace sightline {

struct CorpusScan {
  PictureSpool pictures;         // that could be read, by item id
  Quarantine quarantine;         // rejected by a reader, or unreadable
  Warnings warnings;             // finished; duplicates last
  int64_t duplicate_count = 0;   // of the warnings
  std::string listing;           // hash of all that was listed, and names its seals
  std::unique_ptr<Spool> scans;  // hashes of the work folder's files that keep this scan
  int64_t byte_count = 0;        // that this worker has read
  int64_t read_count = 0;        // pictures that it has
  absl::Duration await_time;     // for other workers

  // Bad ones included.
  int64_t picture_count() const { return pictures.size() + quarantine.size(); }
};

// Lists all corpora and reads every picture once, on `read_threads` threads, unless `folder` says
// what is in it already, or waits until another worker has.  `readers` must outlive the
// result.  Memory holds a stretch of pictures, and no more of a larger corpus.
//
// Errors as ListCorpora has them.  A picture that is not there, not to be read, empty or too
// long is quarantined; trouble of the machine (I/O errors, too many open files) is an error.
// DeadlineExceeded, naming them, when other workers do not deliver; DataLoss for a scan of
// theirs that is damaged, naming the worker that makes it again.
absl::StatusOr<CorpusScan> ScanCorpora(const std::vector<std::unique_ptr<CorpusReader>>& readers,
                                       const WorkFolder& folder,
                                       const CorpusEncoderOptions& options, WorkTally& tally,
                                       const CallContext& call, Progress* progress);

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_CORPUS_ENCODER_CORPUS_SCAN_H_
