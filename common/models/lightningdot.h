// The family "lightningdot": two towers and an inner product ("LightningDOT", Sun et al.,
// 2021), and the same with the text in a picture behind its regions (scene-text aware
// cross-modal retrieval).
//
//   text   [CLS] tokens [SEP]                         a BERT of its own
//   image  [CLS] regions [[SEP] words in the picture]  a UNITER trunk of its own
//
// The embedding is row 0 of the last layer, not pooled, through the tower's projection
// (Linear, GELU, LN, Linear) if the bundle has one, as all released checkpoints do.  It is
// not normalised unless the bundle's metric says so.  Retrieval only.
//
// What the scene-text paper leaves open is in the bundle (SceneTextSpec): how many wordpieces
// are read, where their positions start, their segment, and whether a picture without text
// has a lone [SEP].  Words come in reading order and keep their case.
#ifndef SIGHTLINE_COMMON_MODELS_LIGHTNINGDOT_H_
#define SIGHTLINE_COMMON_MODELS_LIGHTNINGDOT_H_

#include "common/models/family.h"

namespace sightline {

// The registry's line.
Family LightningDotFamily();

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_MODELS_LIGHTNINGDOT_H_
