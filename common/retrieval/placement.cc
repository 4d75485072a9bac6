#include "common/retrieval/placement.h"

#include "common/bundle/generation.h"

namespace sightline {

int ShardHolding(absl::string_view item_id, int shard_count) {
  return ShardOf(item_id, shard_count);
}

}  // namespace sightline
