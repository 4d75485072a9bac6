// What is stored of an item besides its embedding.  How much of it may be: common/base/limits.h.
#ifndef SIGHTLINE_COMMON_BUNDLE_ITEM_RECORD_H_
#define SIGHTLINE_COMMON_BUNDLE_ITEM_RECORD_H_

#include <cstdint>
#include <string>
#include <vector>

namespace sightline {

// One stored item.  A value.  All texts are UTF-8.
struct ItemRecord {
  std::string item_id;            // 1 to limits::kMaxItemIdBytes bytes
  std::string caption;            // a caption's text; an image's first caption, or empty
  std::string uri;                // where the original lies, or empty
  std::vector<std::string> tags;  // free words
};

// Of the digest by which an item that has not changed is known: a SHA-256, raw.
inline constexpr int64_t kContentHashBytes = 32;

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_BUNDLE_ITEM_RECORD_H_
