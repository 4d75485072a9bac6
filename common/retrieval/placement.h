// Which shard holds an item.
//
// A file of its own because common/bundle/generation.h brings protobuf with it and a
// function whose name is that of our class GenerationCatalog.
#ifndef SIGHTLINE_COMMON_RETRIEVAL_PLACEMENT_H_
#define SIGHTLINE_COMMON_RETRIEVAL_PLACEMENT_H_

#include "absl/strings/string_view.h"

namespace sightline {

// `shard_count` >= 1.
int ShardHolding(absl::string_view item_id, int shard_count);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_RETRIEVAL_PLACEMENT_H_
