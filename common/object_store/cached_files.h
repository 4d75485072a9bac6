// Keeping a cache's folder within its bound.
#ifndef SIGHTLINE_COMMON_OBJECT_STORE_CACHED_FILES_H_
#define SIGHTLINE_COMMON_OBJECT_STORE_CACHED_FILES_H_

#include <cstdint>
#include <set>
#include <string>

#include "absl/status/status.h"

namespace sightline {

// Removes files of models and generations below `folder`, those first that came first, until
// `missing` more bytes make at most `max_bytes`, and a hundredth of the file system is left free
// beside them; but none of `kept`, which are paths.  Removes
// none unless that is enough: ResourceExhausted (CACHE_FULL) then.
absl::Status MakeRoomInCache(const std::string& folder, int64_t max_bytes, int64_t missing,
                             const std::set<std::string>& kept);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_OBJECT_STORE_CACHED_FILES_H_
