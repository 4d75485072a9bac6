// The job with everything it needs: the only place that names concrete classes.
#ifndef SIGHTLINE_SERVICES_CORPUS_ENCODER_CORPUS_ENCODER_H_
#define SIGHTLINE_SERVICES_CORPUS_ENCODER_CORPUS_ENCODER_H_

#include "absl/status/statusor.h"
#include "common/base/call_context.h"
#include "services/corpus_encoder/corpus_encoder_config.h"
#include "services/corpus_encoder/corpus_encoder_job.h"
#include "services/corpus_encoder/decoder_starter.h"

namespace sightline {

// Loads the model, opens the corpora and runs the job in this process, with decoders that
// `starter` starts.  With `terminal` progress is drawn on stderr, else logged.  Errors as
// those of its parts.
absl::StatusOr<EncodeSummary> RunCorpusEncoder(const CorpusEncoderConfig& config,
                                               DecoderStarter* starter, bool terminal,
                                               const CallContext& call);

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_CORPUS_ENCODER_CORPUS_ENCODER_H_
