// A small OSCAR to begin with.
#ifndef SIGHTLINE_COMMON_MODELS_OSCAR_SMALL_MANIFEST_H_
#define SIGHTLINE_COMMON_MODELS_OSCAR_SMALL_MANIFEST_H_

#include "common/bundle/model_bundle.h"

namespace sightline {

// The demo's model, a joint OSCAR small enough for a laptop's CPU: 4 layers of width 256
// over 36 grid cells of 96 x 96 pictures, 40 tokens, uncased.  12 MB in float16 beside
// the word table (512 bytes a token; 26 MB altogether with BERT's 30 522).
bundle::v1::ModelBundleManifest SmallOscarManifest();

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_MODELS_OSCAR_SMALL_MANIFEST_H_
