// The family "vldeformer": OSCAR's trunk taken apart into two passes ("VLDeformer", Zhang et
// al., 2022; the released code where paper and code differ).
//
//   text   [CLS] caption [SEP], segment 0                     padded to text_length
//   image  [CLS] tags [SEP], segment 1, padded to tag_length; regions padded to region_count
//
// The embedding is the mean over ALL rows of the last layer, those of padding included, then
// tanh.  So the lengths are part of the checkpoint (FixedLengthSpec).  A padded token is word 0
// at its own position, of segment 0 (of tags: of the segment that the bundle says), a padded
// region the image of a zero vector; neither is seen by others.  Retrieval only.
#ifndef SIGHTLINE_COMMON_MODELS_VLDEFORMER_H_
#define SIGHTLINE_COMMON_MODELS_VLDEFORMER_H_

#include "common/models/family.h"

namespace sightline {

// The registry's line.
Family VlDeformerFamily();

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_MODELS_VLDEFORMER_H_
