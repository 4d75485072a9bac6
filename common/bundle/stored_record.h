// An item's record as it lies in a vectors file.
#ifndef SIGHTLINE_COMMON_BUNDLE_STORED_RECORD_H_
#define SIGHTLINE_COMMON_BUNDLE_STORED_RECORD_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/base/little_endian.h"
#include "common/bundle/item_record.h"

namespace sightline {

// DataLoss, which does not name the item, for an id that is none, tags that are malformed, or
// texts that are not UTF-8.
absl::StatusOr<ItemRecord> DecodeRecord(absl::string_view id, absl::string_view caption,
                                        absl::string_view uri, absl::string_view tags);

// Calls `visit(tag)` for each tag of `bytes`, as they are stored: u32 length, text, one behind
// another.  They live as long as the bytes.  DataLoss, which does not name the item, after those
// before it, for one that is malformed.
template <typename Visit>
absl::Status ForEachStoredTag(absl::string_view bytes, Visit visit) {
  while (!bytes.empty()) {
    if (bytes.size() < sizeof(uint32_t)) return absl::DataLossError("tags end inside a length");
    const auto length = LoadLittleEndian<uint32_t>(bytes.data());
    bytes.remove_prefix(sizeof(length));
    if (length > bytes.size()) return absl::DataLossError("tags end inside a tag");
    visit(bytes.substr(0, length));
    bytes.remove_prefix(length);
  }
  return absl::OkStatus();
}

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_BUNDLE_STORED_RECORD_H_
