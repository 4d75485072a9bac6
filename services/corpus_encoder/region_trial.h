// Whether the models take what the corpora of regions hold, tried before work begins.
#ifndef SIGHTLINE_SERVICES_CORPUS_ENCODER_REGION_TRIAL_H_
#define SIGHTLINE_SERVICES_CORPUS_ENCODER_REGION_TRIAL_H_

#include <cstdint>

#include "absl/status/status.h"
#include "common/base/call_context.h"
#include "services/corpus_encoder/corpus_listing.h"
#include "services/corpus_encoder/unit_encoder.h"

namespace sightline {

// Gives the models items of each corpus of regions, up to 8 that lie evenly among `pictures`,
// until one is taken by all.  Boxes that no item has, or another number of regions than the
// model reads, are so told at once, and not by a ledger of everything at the end.
//
// FailedPrecondition, with the model and its reason, if none of a corpus's items was taken.
// Items that cannot be read (`max_bytes` as CorpusReader::ReadRegions) are left to the job.
// Otherwise what reading or a model returned.
absl::Status TryRegions(const CorpusModels& models, const PictureSpool& pictures, int64_t max_bytes,
                        const CallContext& call);

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_CORPUS_ENCODER_REGION_TRIAL_H_
