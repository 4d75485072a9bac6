// One unit through the model: pictures and captions to embeddings and item features.
#ifndef SIGHTLINE_SERVICES_CORPUS_ENCODER_UNIT_ENCODER_H_
#define SIGHTLINE_SERVICES_CORPUS_ENCODER_UNIT_ENCODER_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/base/call_context.h"
#include "common/models/model.h"
#include "services/corpus_encoder/picture_pipeline.h"
#include "services/corpus_encoder/unit_file.h"
#include "services/corpus_encoder/work_units.h"

namespace sightline {

// FailedPrecondition, saying what is missing, unless `model` can encode texts and
// pictures; a cross-encoder is welcome and not needed.
absl::Status CheckModelForCorpus(const Model& model);

// Encodes the pictures that were decoded and the captions in `language` of those; all in
// batches of this unit alone.  `pictures` are those of the unit, in order.
//
// A picture that has a problem is rejected with it and takes its captions along; a
// caption that the tokenizer refuses is rejected alone.  Internal, naming the item, for
// an embedding that is not finite, is zero, or has another length than the model says:
// then the model is broken, not the item.  Otherwise what the model returned.
absl::StatusOr<UnitResult> EncodeUnit(const Model& model, const WorkUnit& unit,
                                      std::vector<DecodedPicture> pictures,
                                      absl::string_view language, const CallContext& call);

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_CORPUS_ENCODER_UNIT_ENCODER_H_
