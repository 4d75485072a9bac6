// The family "oscar": bi-encoder and cross-encoder of one weight set (see oscar_net.h for
// the network).  Real checkpoints of OSCAR and VinVL as well as the demo's own small one.
//
// An image's item features are its projected region rows (tensor "regions", rows x H) and,
// if the bundle reads tags, their ids and [SEP] (tensor "tags").  Embeddings are the mean
// over all rows, scaled to length one if the bundle's metric is cosine.  Scores are the
// softmax probability of "match" (score kind softmax_match) or its logit alone (logit_match,
// as MMT-Retrieval ranks); the two rankings differ.
#ifndef SIGHTLINE_COMMON_MODELS_OSCAR_H_
#define SIGHTLINE_COMMON_MODELS_OSCAR_H_

#include "common/models/family.h"

namespace sightline {

// The registry's line.
Family OscarFamily();

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_MODELS_OSCAR_H_
