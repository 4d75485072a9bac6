#include "services/router/backend_word.h"

#include <algorithm>
#include <tuple>

#include "common/base/limits.h"

namespace sightline {
namespace {

bool Same(const GenerationStatus& a, const GenerationStatus& b) {
  const auto fields = [](const GenerationStatus& status) {
    const GenerationInfo& info = status.info;
    return std::tie(status.state, status.needs_room, status.sequence, status.held_shards,
                    info.ref.index, info.ref.generation, info.ref.space, info.content,
                    info.dimension, info.shard_count, info.item_count, info.encoder_model);
  };
  return fields(a) == fields(b) && SameRerankers(a.info.rerankers, b.info.rerankers);
}

bool HoldsShard(const GenerationStatus& generation, int shard) {
  return std::count(generation.held_shards.begin(), generation.held_shards.end(), shard) > 0;
}

}  // namespace

bool SameRerankers(const std::vector<RerankerInfo>& a, const std::vector<RerankerInfo>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const RerankerInfo& x, const RerankerInfo& y) {
                      return x.name == y.name && x.model == y.model &&
                             x.declared.by_default == y.declared.by_default &&
                             SameCombination(x.declared.combination, y.declared.combination);
                    });
}

bool SayTheSame(const std::vector<GenerationStatus>& a, const std::vector<GenerationStatus>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), Same);
}

ModelPrecisions PrecisionsOf(const ServerStatus& status) {
  ModelPrecisions precisions;
  for (const ModelStatus& model : status.models) {
    const size_t length = model.precision.size();
    if (length > 0 && length <= limits::kMaxPrecisionBytes) {
      precisions[model.model] = model.precision;
    }
  }
  return precisions;
}

bool Holds(const GenerationStatus& said, const ReplicaSetId& id, int shard_count) {
  if (said.state != GenerationState::kReady) return false;
  // A generation cut into another number of shards than the configuration names would be
  // searched in part, silently.
  return id.kind != ReplicaSetId::Kind::kShard ||
         (said.info.ref.index == id.index && said.info.shard_count == shard_count &&
          HoldsShard(said, id.shard));
}

}  // namespace sightline
