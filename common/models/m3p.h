// The family "m3p": multilingual, bi-encoder and cross-encoder of one weight set ("M3P", Ni et
// al., 2021, as MMT-Retrieval uses it).
//
//   text   <s> tokens </s>                       mean -> embedding
//   image  regions <s>                           mean -> embedding
//   pair   regions <s> tokens </s>               pooler on row 0, a region -> two logits
//
// Positions count over the whole sequence, regions included and first: so region order
// matters, and a text behind R regions starts at position R.  There are no segments.  Every
// sequence is computed at its own length; the reference agrees where it does not pad, which
// is where all images of its batch have equally many regions.
//
// An image's item features are its region rows, positions in place (tensor "regions", rows x
// H).
#ifndef SIGHTLINE_COMMON_MODELS_M3P_H_
#define SIGHTLINE_COMMON_MODELS_M3P_H_

#include "common/models/family.h"

namespace sightline {

// The registry's line.
Family M3pFamily();

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_MODELS_M3P_H_
