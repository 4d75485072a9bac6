// Where things lie in a store, and which names may become part of a path.
#ifndef SIGHTLINE_COMMON_BUNDLE_LAYOUT_H_
#define SIGHTLINE_COMMON_BUNDLE_LAYOUT_H_

#include <string>

#include "absl/strings/string_view.h"

namespace sightline {

// Whether `name` may name an index or a generation: [a-z0-9][a-z0-9_-]*, at most
// `max_length` characters.  Names become path components, so nothing else gets through.
bool IsValidName(absl::string_view name, int max_length);

// Whether `path` is relative, made of letters, digits, `._-` and `/` only, without `..`,
// without empty or hidden components, and at most 200 characters long: such a path
// cannot leave its folder.
bool IsSafePath(absl::string_view path);

// Where an item lives: the first eight bytes of SHA-256(item id), big-endian, modulo.
// `shard_count` >= 1.
int ShardOf(absl::string_view item_id, int shard_count);

// The names must be valid: see above.
std::string IndexDirectory(absl::string_view store, absl::string_view index);
std::string GenerationDirectory(absl::string_view store, absl::string_view index,
                                absl::string_view generation);
std::string ModelDirectory(absl::string_view store, absl::string_view model_id);

// "shards/00000-of-00002.vectors", relative to the generation's folder; `kind` is
// "vectors", "features", "probes" or, of a file that a kind of index has built, its name.
std::string ShardFileName(int shard, int shard_count, absl::string_view kind);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_BUNDLE_LAYOUT_H_
