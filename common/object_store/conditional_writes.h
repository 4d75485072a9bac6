// Whether a store keeps what publications rely on.
#ifndef SIGHTLINE_COMMON_OBJECT_STORE_CONDITIONAL_WRITES_H_
#define SIGHTLINE_COMMON_OBJECT_STORE_CONDITIONAL_WRITES_H_

#include "absl/status/status.h"
#include "common/base/call_context.h"
#include "common/object_store/object_store.h"

namespace sightline {

// The object that is written, once in the life of a store.
inline constexpr char kConditionalWritesProbe[] = "probe/if-none-match";

// OK if `store` refuses to create what exists.  FAILED_PRECONDITION if it does so nevertheless,
// as stores do that do not know If-None-Match: two publications at the same moment would overwrite
// each other.  Errors of the store otherwise.
absl::Status CheckConditionalWrites(ObjectStore& store, const CallContext& call);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_OBJECT_STORE_CONDITIONAL_WRITES_H_
