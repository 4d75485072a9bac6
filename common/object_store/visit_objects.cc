#include "common/object_store/visit_objects.h"

#include <string>
#include <vector>

#include "common/base/status_macros.h"

namespace sightline {
namespace {

constexpr int64_t kListed = 1000;  // as many as a store lists at once

}  // namespace

absl::Status VisitObjects(ObjectStore* store, absl::string_view prefix, const CallContext& call,
                          const std::function<void(const ObjectInfo&)>& visit,
                          absl::string_view after) {
  for (std::string last(after);;) {
    ASSIGN_OR_RETURN(const std::vector<ObjectInfo> page, store->List(prefix, last, kListed, call));
    for (const ObjectInfo& info : page) visit(info);
    if (static_cast<int64_t>(page.size()) < kListed) return absl::OkStatus();
    last = page.back().key;
  }
}

}  // namespace sightline
