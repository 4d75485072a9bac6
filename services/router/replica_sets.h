// The replica sets of a router: one for the encoder, one for the reranker, one for each
// shard.
#ifndef SIGHTLINE_SERVICES_ROUTER_REPLICA_SETS_H_
#define SIGHTLINE_SERVICES_ROUTER_REPLICA_SETS_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/metrics/metrics.h"
#include "common/replicas/replicas.h"
#include "common/retrieval/backends.h"
#include "services/router/membership.h"

namespace sightline {

// How the clients of single replicas are made.
struct ClientFactories {
  MakeClient<QueryEncoderClient> encoder;
  MakeClient<IndexSearchClient> index_search;
  MakeClient<RerankerClient> reranker;
};

// Thread-safe.
class ReplicaSets {
 public:
  // One set for each list of `entries`, names and all; none for rerankers if there are no
  // entries.  The sets are without members.  `options.metrics` is set here.
  ReplicaSets(const Membership& entries, const ClientFactories& make, ReplicaOptions options,
              MetricsRegistry* metrics);

  // `set` is one of the lists that `entries` had.
  void SetRoster(const ReplicaSetId& set, Roster roster);

  // For the Retriever.
  const Backends& backends() const { return backends_; }

 private:
  std::shared_ptr<ReplicaClient<QueryEncoderClient>> encoder_;
  std::shared_ptr<ReplicaClient<RerankerClient>> reranker_;
  std::map<std::string, std::vector<std::shared_ptr<ReplicaClient<IndexSearchClient>>>> shards_;
  Backends backends_;
};

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_ROUTER_REPLICA_SETS_H_
