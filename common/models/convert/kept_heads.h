// Heads of pre-training, which come along with a checkpoint's model.
#ifndef SIGHTLINE_COMMON_MODELS_CONVERT_KEPT_HEADS_H_
#define SIGHTLINE_COMMON_MODELS_CONVERT_KEPT_HEADS_H_

#include "common/models/convert/checkpoint.h"
#include "common/models/convert/conversion.h"

namespace sightline {

// Puts those that `source` has whole beside the tensors of `conversion`, whose manifest has its
// transformer, under the names of pretraining_heads.h; warns of what is there in parts.
void KeepPretrainingHeads(const Checkpoint& source, Conversion* conversion);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_MODELS_CONVERT_KEPT_HEADS_H_
