// An image's item features as they are stored and sent: rounded from what a cross-encoder has
// prepared.  The one way, of corpora and of uploads, so that both have the same bytes.
#ifndef SIGHTLINE_COMMON_MODELS_INPUTS_STORED_FEATURES_H_
#define SIGHTLINE_COMMON_MODELS_INPUTS_STORED_FEATURES_H_

#include "absl/status/statusor.h"
#include "common/base/dtype.h"
#include "common/bundle/item_features.h"

namespace sightline {

// The same features with each float32 tensor as `dtype`; others, token ids, stay as they are.
//
// float16: to the nearest, ties to even.  int8: each row by itself, its numbers divided by a scale,
// which is kept beside it (item_features.h), to the nearest, ties to even.  The scale is the
// largest magnitude of the row divided by 127, but no denormal number.  So no number is further off
// than half a scale, zero stays zero, and a row gives the same bytes wherever it stands, on any
// CPU.
//
// InvalidArgument if there are numbers that are not finite, or too large for `dtype`, or `dtype` is
// none of FeatureDtypeNames (feature_dtype.h).
absl::StatusOr<ItemFeatures> StoredAs(Dtype dtype, ItemFeatures exact);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_MODELS_INPUTS_STORED_FEATURES_H_
