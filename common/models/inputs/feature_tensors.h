// Item features come from disk and from the wire, so nothing they say of themselves is
// believed before it has been compared with their bytes.
#ifndef SIGHTLINE_COMMON_MODELS_INPUTS_FEATURE_TENSORS_H_
#define SIGHTLINE_COMMON_MODELS_INPUTS_FEATURE_TENSORS_H_

#include <cstdint>
#include <initializer_list>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/base/dtype.h"
#include "common/bundle/item_features.h"

namespace sightline {

// The tensor `name` of `features`, which owns it.  InvalidArgument, saying what differs,
// unless it is there, has one of `dtypes`, 1 to `max_rows` rows, `columns` columns,
// and just the bytes that these numbers need.
absl::StatusOr<const FeatureTensor*> RequireTensor(const ItemFeatures& features,
                                                   absl::string_view name,
                                                   std::initializer_list<Dtype> dtypes,
                                                   int64_t max_rows, int64_t columns);

// Whether a float16 or float32 tensor, checked by RequireTensor, holds no NaN and no
// infinity.  True for other types.
bool AllFinite(const FeatureTensor& tensor);

// Whether the numbers of a float32 tensor can be scales of rows in int8: none is negative, and what
// they are multiplied by, up to 127, leaves them finite.
bool AreScales(const FeatureTensor& tensor);

// Rows of fractions, whatever they are stored as.  ItemFeatures own them.
struct StoredRows {
  const FeatureTensor* rows = nullptr;    // float16, float32 or int8
  const FeatureTensor* scales = nullptr;  // of int8: float32, one a row
};

// The rows `name` of `features`.  InvalidArgument as RequireTensor, and unless all of their numbers
// are finite.  Rows in int8 have scales that can be such, and -127 to 127, as StoredAs makes them.
absl::StatusOr<StoredRows> RequireRows(const ItemFeatures& features, absl::string_view name,
                                       int64_t max_rows, int64_t columns);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_MODELS_INPUTS_FEATURE_TENSORS_H_
