#include "common/bundle/stored_record.h"

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/limits.h"
#include "common/base/little_endian.h"
#include "common/base/status_macros.h"
#include "common/base/utf8.h"

namespace sightline {
namespace {

// Texts of u32 length and bytes, one behind another.
absl::StatusOr<std::vector<std::string>> DecodeTags(absl::string_view bytes) {
  std::vector<std::string> tags;
  while (!bytes.empty()) {
    uint32_t length = 0;
    if (bytes.size() < sizeof(length)) return absl::DataLossError("tags end inside a length");
    length = LoadLittleEndian<uint32_t>(bytes.data());
    bytes.remove_prefix(sizeof(length));
    if (length > bytes.size()) return absl::DataLossError("tags end inside a tag");
    tags.emplace_back(bytes.substr(0, length));
    bytes.remove_prefix(length);
  }
  return tags;
}

}  // namespace

absl::StatusOr<ItemRecord> DecodeRecord(absl::string_view id, absl::string_view caption,
                                        absl::string_view uri, absl::string_view tags) {
  if (id.empty() || static_cast<int64_t>(id.size()) > limits::kMaxItemIdBytes) {
    return absl::DataLossError("malformed item id");
  }
  ItemRecord record;
  record.item_id = std::string(id);
  record.caption = std::string(caption);
  record.uri = std::string(uri);
  ASSIGN_OR_RETURN(record.tags, DecodeTags(tags));
  bool valid = IsValidUtf8(id) && IsValidUtf8(caption) && IsValidUtf8(uri);
  for (const std::string& tag : record.tags) valid = valid && IsValidUtf8(tag);
  if (!valid) return absl::DataLossError("a text is not UTF-8");
  return record;
}

}  // namespace sightline
