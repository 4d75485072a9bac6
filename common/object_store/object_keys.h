// Where things lie in an object store: where they lie in a folder (common/bundle/layout.h), but
// for CURRENT, of which each publication is an object of its own.
//
//   models/<sha256>/...
//   indexes/<index>/CURRENT/<sequence, 19 digits>             what a folder's CURRENT says
//   indexes/<index>/generations/<id>/...
//   indexes/<index>/.pruned/<unix seconds>-<id>               to be deleted, as was decided then
//   probe/if-none-match                                       conditional_writes.h
#ifndef SIGHTLINE_COMMON_OBJECT_STORE_OBJECT_KEYS_H_
#define SIGHTLINE_COMMON_OBJECT_STORE_OBJECT_KEYS_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/optional.h"

namespace sightline {

// Of all indexes.
inline constexpr char kIndexesPrefix[] = "indexes/";

// All end with a slash; names must be valid.
std::string ModelPrefix(absl::string_view model_id);
std::string GenerationsPrefix(absl::string_view index);
std::string GenerationPrefix(absl::string_view index, absl::string_view generation);
std::string CurrentPrefix(absl::string_view index);
std::string PrunedPrefix(absl::string_view index);

// Of sequences >= 0, keys have the order of the numbers.
std::string CurrentKey(absl::string_view index, int64_t sequence);

// The sequence that is in such a key of the index; none if it is no such key, or the last number
// there is, which none could follow.
absl::optional<int64_t> SequenceOfKey(absl::string_view index, absl::string_view key);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_OBJECT_STORE_OBJECT_KEYS_H_
