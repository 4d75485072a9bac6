// What tells jobs, and what they make, apart.
#ifndef SIGHTLINE_SERVICES_CORPUS_ENCODER_JOB_HASHES_H_
#define SIGHTLINE_SERVICES_CORPUS_ENCODER_JOB_HASHES_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/call_context.h"
#include "services/corpus_encoder/corpus_scan.h"
#include "services/corpus_encoder/job_options.h"
#include "services/corpus_encoder/unit_encoder.h"
#include "services/corpus_encoder/work_await.h"
#include "services/corpus_encoder/work_units.h"

namespace sightline {

// What the results of this job's units depend on.
UnitContext ContextOf(const CorpusModels& models, const CorpusEncoderOptions& options,
                      absl::Duration max_decode_time);

// Of all that workers must have in common, as far as settings say it.
std::string JobHash(const CorpusEncoderOptions& options, const UnitContext& context);

// Of all that the generations depend on, but for their base.  `space` is the embedding's.
// Items are noted in `tally`.
absl::StatusOr<std::string> ContentHash(CorpusScan& scan, const CorpusEncoderOptions& options,
                                        const std::string& space, const UnitContext& context,
                                        WorkTally& tally, const CallContext& call);

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_CORPUS_ENCODER_JOB_HASHES_H_
