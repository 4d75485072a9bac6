// All objects below a prefix, page by page.
#ifndef SIGHTLINE_COMMON_OBJECT_STORE_VISIT_OBJECTS_H_
#define SIGHTLINE_COMMON_OBJECT_STORE_VISIT_OBJECTS_H_

#include <functional>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "common/base/call_context.h"
#include "common/object_store/object_store.h"

namespace sightline {

// Calls `visit` with each object whose key begins with `prefix` and is bytewise behind `after`, in
// that order.  Errors as those of List; then some may have been visited.
absl::Status VisitObjects(ObjectStore* store, absl::string_view prefix, const CallContext& call,
                          const std::function<void(const ObjectInfo&)>& visit,
                          absl::string_view after = "");

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_OBJECT_STORE_VISIT_OBJECTS_H_
