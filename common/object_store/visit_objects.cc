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

absl::StatusOr<std::vector<std::string>> ListFolders(ObjectStore* store, absl::string_view prefix,
                                                     const CallContext& call) {
  std::vector<std::string> folders;
  for (std::string last;;) {
    ASSIGN_OR_RETURN(const std::vector<ObjectInfo> next, store->List(prefix, last, 1, call));
    if (next.empty()) return folders;
    last = next.front().key;
    const size_t end = last.find('/', prefix.size());
    if (end == std::string::npos) continue;  // an object beside them
    folders.push_back(last.substr(prefix.size(), end - prefix.size()));
    // Behind all that is in the folder: '0' follows '/'.
    last = last.substr(0, end) + "0";
  }
}

}  // namespace sightline
