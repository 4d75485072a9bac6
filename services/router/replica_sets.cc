#include "services/router/replica_sets.h"

#include <utility>

namespace sightline {

ReplicaSets::ReplicaSets(const Membership& entries, const ClientFactories& make,
                         ReplicaOptions options, const ShardFitness& fitness,
                         MetricsRegistry* metrics) {
  // Sets that draw alike would send the shards of one request to the same machine.
  const auto next = [&](const ReplicaMetrics& counters, int shard) {
    ++options.seed;
    options.metrics = counters;
    options.fitness = [fitness, shard](const std::string& address, const GenerationRef& target) {
      return fitness(address, target, shard);
    };
    return options;
  };
  encoder_ = ReplicatedEncoder(make.encoder, next(AddReplicaMetrics(metrics, "encoder"), -1));
  backends_.encoder = encoder_;
  if (!entries.rerankers.empty()) {
    reranker_ = ReplicatedReranker(make.reranker, next(AddReplicaMetrics(metrics, "reranker"), -1));
    backends_.reranker = reranker_;
  }
  const ReplicaMetrics counters = AddReplicaMetrics(metrics, "shard");
  for (const auto& [index, shards] : entries.indexes) {
    for (size_t shard = 0; shard < shards.size(); ++shard) {
      shards_[index].push_back(
          ReplicatedIndexSearch(make.index_search, next(counters, static_cast<int>(shard))));
      backends_.shards[index].push_back(shards_[index].back());
    }
  }
}

void ReplicaSets::SetMembers(const Membership& members) {
  encoder_->SetMembers(members.encoders);
  if (reranker_ != nullptr) reranker_->SetMembers(members.rerankers);
  for (const auto& [index, shards] : members.indexes) {
    for (size_t shard = 0; shard < shards.size(); ++shard) {
      shards_.at(index)[shard]->SetMembers(shards[shard]);
    }
  }
}

}  // namespace sightline
