// The family "sgraf": SGRAF's modules SAF and SGR as cross-encoders, with the published global
// node or with T-EMDE's sketches (see sgraf_net.h for the network).  SGRAF itself is the
// ensemble of a SAF and an SGR (ensemble.h).
//
// An image has exactly SgrafSpec.region_count regions, without boxes, in the detector's order,
// which matters: its batch norm knows each region's place.  Its item features are the
// projected regions (tensor "regions", rows x E) and what stands for the whole image (tensor
// "whole", 1 x E; of T-EMDE the sketch, 1 x N K).  A text is read once per query.
//
// What T-EMDE's paper leaves open: a node is as wide as the others, text sketch before image
// sketch, no l2n after its ReLU.
#ifndef SIGHTLINE_COMMON_MODELS_SGRAF_H_
#define SIGHTLINE_COMMON_MODELS_SGRAF_H_

#include "common/models/family.h"

namespace sightline {

// The registry's line.
Family SgrafFamily();

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_MODELS_SGRAF_H_
