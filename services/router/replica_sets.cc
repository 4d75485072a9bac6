#include "services/router/replica_sets.h"

#include <utility>

namespace sightline {

ReplicaSets::ReplicaSets(const Membership& entries, const ClientFactories& make,
                         ReplicaOptions options, MetricsRegistry* metrics) {
  // Sets that draw alike would send the shards of one request to the same machine.
  const auto next = [&](const ReplicaMetrics& counters) {
    ++options.seed;
    options.metrics = counters;
    return options;
  };
  encoder_ = ReplicatedEncoder(make.encoder, next(AddReplicaMetrics(metrics, "encoder")));
  backends_.encoder = encoder_;
  if (!entries.rerankers.empty()) {
    reranker_ = ReplicatedReranker(make.reranker, next(AddReplicaMetrics(metrics, "reranker")));
    backends_.reranker = reranker_;
  }
  const ReplicaMetrics counters = AddReplicaMetrics(metrics, "shard");
  for (const auto& [index, shards] : entries.indexes) {
    for (size_t shard = 0; shard < shards.size(); ++shard) {
      shards_[index].push_back(ReplicatedIndexSearch(make.index_search, next(counters)));
      backends_.shards[index].push_back(shards_[index].back());
    }
  }
}

void ReplicaSets::SetRoster(const ReplicaSetId& set, Roster roster) {
  switch (set.kind) {
    case ReplicaSetId::Kind::kEncoder:
      return encoder_->SetRoster(std::move(roster));
    case ReplicaSetId::Kind::kReranker:
      if (reranker_ != nullptr) reranker_->SetRoster(std::move(roster));
      return;
    case ReplicaSetId::Kind::kShard:
      return shards_.at(set.index)[set.shard]->SetRoster(std::move(roster));
  }
}

}  // namespace sightline
