// Finds the regions of pictures once, so that networks learn from them as from a detector's.
//
// Pictures are taken in parts, whose region files lie in `<out>.parts/` until all are there: a job
// that was ended goes on with the first part that is not.
#ifndef SIGHTLINE_SERVICES_TRAINER_EXTRACT_JOB_H_
#define SIGHTLINE_SERVICES_TRAINER_EXTRACT_JOB_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/base/call_context.h"
#include "common/base/compute_pool.h"
#include "common/base/dtype.h"
#include "common/dataset/corpus.h"
#include "common/image/decode.h"
#include "common/log/progress.h"
#include "common/models/model.h"

namespace sightline {

struct ExtractJob {
  std::vector<std::unique_ptr<CorpusReader>> corpora;  // of pictures
  const Model* model = nullptr;                        // whose extractor is asked
  std::string out;                                     // the region file
  Dtype features = Dtype::kFloat16;                    // or float32
  DecodeLimits limits;
  int threads = 1;  // that read and decode
  int64_t max_decode_bytes = int64_t{512} << 20;
  int64_t part_size = 256;  // pictures
};

struct ExtractSummary {
  int64_t written = 0;
  int64_t skipped = 0;
};

inline constexpr absl::string_view kSkippedSuffix = ".skipped.jsonl";

// Writes the region file: items in the order of their ids, with captions, tags, words and splits as
// the corpora have them, and with soft labels if the extractor knows classes.  Bad pictures, and
// what the corpora rejected, are left out and listed in `<out>.skipped.jsonl` (item_list.h), which
// has no line if there are none.  The same pictures and model give the same bytes on CPUs of one
// kind.
//
// InvalidArgument: a model that finds no regions, a corpus that has them already, an id of two
// corpora, or no picture that is good.  Errors of files and readers; Cancelled when the call is.
absl::StatusOr<ExtractSummary> ExtractRegions(const ExtractJob& job, Progress* progress,
                                              const CallContext& call);

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_TRAINER_EXTRACT_JOB_H_
