// The processes that a router was configured with, grouped by what they can answer.
#ifndef SIGHTLINE_COMMON_RETRIEVAL_BACKENDS_H_
#define SIGHTLINE_COMMON_RETRIEVAL_BACKENDS_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/api/clients.h"

namespace sightline {

// Each client here stands for a replica set: common/replicas wraps the replicas of one
// shard (or of the encoder, or of the reranker) into one client that tries another
// replica when one is UNAVAILABLE.
struct Backends {
  std::shared_ptr<QueryEncoderClient> encoder;
  std::shared_ptr<RerankerClient> reranker;  // null: nothing is reranked
  // Index name -> client of each shard, in shard order.
  std::map<std::string, std::vector<std::shared_ptr<IndexSearchClient>>> shards;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_RETRIEVAL_BACKENDS_H_
