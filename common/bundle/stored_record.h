// An item's record as it lies in a vectors file.
#ifndef SIGHTLINE_COMMON_BUNDLE_STORED_RECORD_H_
#define SIGHTLINE_COMMON_BUNDLE_STORED_RECORD_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/bundle/item_record.h"

namespace sightline {

// DataLoss, which does not name the item, for an id that is none, tags that are malformed, or
// texts that are not UTF-8.
absl::StatusOr<ItemRecord> DecodeRecord(absl::string_view id, absl::string_view caption,
                                        absl::string_view uri, absl::string_view tags);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_BUNDLE_STORED_RECORD_H_
