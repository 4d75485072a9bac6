// Makes units: from pictures to unit files.
#ifndef SIGHTLINE_SERVICES_CORPUS_ENCODER_UNIT_WORK_H_
#define SIGHTLINE_SERVICES_CORPUS_ENCODER_UNIT_WORK_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/base/call_context.h"
#include "common/base/mutex.h"
#include "common/log/progress.h"
#include "services/corpus_encoder/decoder_pool.h"
#include "services/corpus_encoder/encode_summary.h"
#include "services/corpus_encoder/job_options.h"
#include "services/corpus_encoder/picture_pipeline.h"
#include "services/corpus_encoder/unit_encoder.h"
#include "services/corpus_encoder/work_await.h"
#include "services/corpus_encoder/work_folder.h"
#include "services/corpus_encoder/work_units.h"

namespace sightline {

// What making units takes.  All of it outlives the work.
struct UnitWorkshop {
  const CorpusEncoderOptions* options = nullptr;
  const CorpusModels* models = nullptr;
  const WorkFolder* folder = nullptr;
  std::string listing;  // of the scan
  int dimension = 0;
  bool has_regions = false;  // some of the corpora hold regions
  DecoderPool* decoders = nullptr;
  WorkTally* tally = nullptr;
  Progress* progress = nullptr;
  EncodeSummary* summary = nullptr;  // is kept up to date
};

// For one thread.  On a device several units are encoded at once, on threads of its own: while the
// device computes a pass of one, the host lays out another's and writes a third.
class UnitWork {
 public:
  explicit UnitWork(const UnitWorkshop& workshop)
      : shop_(workshop), scanned_(workshop.summary->read) {}

  // Makes those of `units` whose hashes are `wanted` and that are not there: missing, damaged
  // or not readable, or with a refusal that may pass.  Those that are there have their checksums
  // compared. CANCELLED when `call` is; Aborted when a picture has changed; otherwise what models
  // and files say.
  absl::Status MakeMissing(const UnitSpool& units,
                           const std::function<bool(absl::string_view)>& wanted,
                           const CallContext& call);

  // Units that were found, or made.
  int64_t finished_count() const EXCLUDES(told_mutex_) {
    MutexLock lock(told_mutex_);
    return finished_count_;
  }

 private:
  struct Supply;

  // At once.
  int encoder_count() const;
  absl::StatusOr<bool> IsThere(const WorkUnit& unit) EXCLUDES(told_mutex_);
  // Until there is no unit more, or somebody has failed.
  void EncodeUnits(Supply& supply, const CallContext& call) EXCLUDES(told_mutex_);
  absl::StatusOr<absl::optional<DecodedUnit>> Take(Supply& supply, const CallContext& call)
      EXCLUDES(told_mutex_);
  absl::Status Encode(DecodedUnit decoded, const CallContext& call) EXCLUDES(told_mutex_);
  void NotePipeline(const PicturePipeline& pipeline) EXCLUDES(told_mutex_);

  const UnitWorkshop shop_;
  const StageWork scanned_;  // of the summary's `read`: by the scan
  // Held while the workshop's summary, tally and progress are told of something.
  mutable Mutex told_mutex_;
  int64_t finished_count_ GUARDED_BY(told_mutex_) = 0;
};

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_CORPUS_ENCODER_UNIT_WORK_H_
