// Several replicas of one server behind the client of one.
//
// Calls go round robin.  A call that ends UNAVAILABLE is tried once more on another
// replica while its deadline lasts; no other status is retried, because the work may
// have been done or would fail again.  A replica that was UNAVAILABLE is passed over for
// a while, so that a dead one does not cost every other call a hop; the first call after
// that probes it.  When all are being passed over, all are tried as if none were.
//
//   std::shared_ptr<RerankerClient> reranker = ReplicatedReranker(clients, options);
#ifndef SIGHTLINE_COMMON_RETRIEVAL_REPLICAS_H_
#define SIGHTLINE_COMMON_RETRIEVAL_REPLICAS_H_

#include <memory>
#include <vector>

#include "absl/time/time.h"
#include "common/retrieval/clients.h"

namespace sightline {

struct ReplicaOptions {
  // How long a replica is passed over after an UNAVAILABLE, by the clock of the call.
  absl::Duration avoid_for = absl::Seconds(1);
  // Replica of the first call, taken modulo their number.  Give each router its own, so
  // that a fleet that starts together does not march in step.
  unsigned start = 0;
};

// Each takes part in the ownership of `replicas`, none of them null, and returns a
// thread-safe client.  A single replica is returned as it is; none give null.
std::shared_ptr<QueryEncoderClient> ReplicatedEncoder(
    std::vector<std::shared_ptr<QueryEncoderClient>> replicas, const ReplicaOptions& options = {});
std::shared_ptr<IndexSearchClient> ReplicatedIndexSearch(
    std::vector<std::shared_ptr<IndexSearchClient>> replicas, const ReplicaOptions& options = {});
std::shared_ptr<RerankerClient> ReplicatedReranker(
    std::vector<std::shared_ptr<RerankerClient>> replicas, const ReplicaOptions& options = {});

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_RETRIEVAL_REPLICAS_H_
