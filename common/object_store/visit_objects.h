// All objects below a prefix, page by page.
#ifndef SIGHTLINE_COMMON_OBJECT_STORE_VISIT_OBJECTS_H_
#define SIGHTLINE_COMMON_OBJECT_STORE_VISIT_OBJECTS_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/base/call_context.h"
#include "common/object_store/object_store.h"

namespace sightline {

// Calls `visit` with each object whose key begins with `prefix` and is bytewise behind `after`, in
// that order.  Errors as those of List; then some may have been visited.
absl::Status VisitObjects(ObjectStore* store, absl::string_view prefix, const CallContext& call,
                          const std::function<void(const ObjectInfo&)>& visit,
                          absl::string_view after = "");

// The folders directly below `prefix`, which ends with a slash, in the order of their keys.  A
// request for each, so for messages and for people.  Errors as those of List.
absl::StatusOr<std::vector<std::string>> ListFolders(ObjectStore* store, absl::string_view prefix,
                                                     const CallContext& call);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_OBJECT_STORE_VISIT_OBJECTS_H_
