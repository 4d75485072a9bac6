// The first pass over a corpus: what there is, and the SHA-256 of every picture.
//
// Pictures are read twice, here and when they are decoded.  In return all work is known
// before any begins: which units are done already, how long the rest will take, and the
// name of the generation.  Of several workers each reads its part (scan_share.h).
#ifndef SIGHTLINE_SERVICES_CORPUS_ENCODER_CORPUS_SCAN_H_
#define SIGHTLINE_SERVICES_CORPUS_ENCODER_CORPUS_SCAN_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/call_context.h"
#include "common/dataset/corpus.h"
#include "common/log/progress.h"
#include "services/corpus_encoder/quarantine.h"
#include "services/corpus_encoder/work_share.h"

namespace sightline {

// One picture that could be read.
struct ScannedPicture {
  const CorpusReader* reader = nullptr;
  CorpusItem item;
  std::string sha256;    // of the encoded picture, or of the regions (item_content.h), hex
  size_t scan_file = 0;  // of CorpusScan::files, if there are any
};

// Whether it is no picture, but what a detector has found in one.
inline bool HasRegions(const ScannedPicture& picture) {
  return picture.reader != nullptr && picture.reader->region_feature_size() > 0;
}

struct CorpusScan {
  std::vector<ScannedPicture> pictures;     // by item id
  std::vector<QuarantineEntry> quarantine;  // rejected by a reader, or unreadable
  std::vector<CorpusProblem> warnings;
  int64_t byte_count = 0;          // that this worker has read
  int64_t read_count = 0;          // pictures that it has
  absl::Duration await_time;       // for other workers
  std::vector<std::string> files;  // of the work folder that keep this scan for other workers
};

struct ScanOptions {
  int threads = 1;
  int64_t max_picture_bytes = int64_t{32} << 20;
  WorkShare share;
  // For more than one worker: where they leave what they have read for each other.
  std::string work_directory;
  AwaitOptions await;
};

// Lists all corpora and reads every picture once, on `threads` threads, or waits until
// another worker has.  `readers` must outlive the result.  InvalidArgument when two corpora give
// one id, naming both paths, or when there is no item at all; CANCELLED when `call` is; what a
// reader's List returned.  A picture that is not there, not to be read, empty or too long is
// quarantined; trouble of the machine (I/O errors, too many open files) is an error.
// DeadlineExceeded, naming them, when other workers do not deliver.
absl::StatusOr<CorpusScan> ScanCorpora(const std::vector<std::unique_ptr<CorpusReader>>& readers,
                                       const ScanOptions& options, const CallContext& call,
                                       Progress* progress);

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_CORPUS_ENCODER_CORPUS_SCAN_H_
