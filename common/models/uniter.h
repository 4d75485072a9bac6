// The family "uniter": UNITER's cross-encoder, the re-ranker of LightningDOT (see uniter_net.h
// for the network).
//
// An image's item features are its projected region rows (tensor "regions", rows x H).  The
// score is the raw number of rank_output (score kind rank_raw), or the softmax probability
// or logit of itm_output's "match" (softmax_match, logit_match).
#ifndef SIGHTLINE_COMMON_MODELS_UNITER_H_
#define SIGHTLINE_COMMON_MODELS_UNITER_H_

#include "common/models/family.h"

namespace sightline {

// The registry's line.
Family UniterFamily();

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_MODELS_UNITER_H_
