#include "common/bundle/stored_record.h"

#include <cstdint>
#include <string>

#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/base/utf8.h"

namespace sightline {
absl::StatusOr<ItemRecord> DecodeRecord(absl::string_view id, absl::string_view caption,
                                        absl::string_view uri, absl::string_view tags) {
  if (id.empty() || static_cast<int64_t>(id.size()) > limits::kMaxItemIdBytes) {
    return absl::DataLossError("malformed item id");
  }
  ItemRecord record;
  record.item_id = std::string(id);
  record.caption = std::string(caption);
  record.uri = std::string(uri);
  RETURN_IF_ERROR(
      ForEachStoredTag(tags, [&record](absl::string_view tag) { record.tags.emplace_back(tag); }));
  bool valid = IsValidUtf8(id) && IsValidUtf8(caption) && IsValidUtf8(uri);
  for (const std::string& tag : record.tags) valid = valid && IsValidUtf8(tag);
  if (!valid) return absl::DataLossError("a text is not UTF-8");
  return record;
}

}  // namespace sightline
