// What the router reads from a server's word of itself.
#ifndef SIGHTLINE_SERVICES_ROUTER_BACKEND_WORD_H_
#define SIGHTLINE_SERVICES_ROUTER_BACKEND_WORD_H_

#include <map>
#include <string>
#include <vector>

#include "common/api/generation.h"
#include "common/api/server_status.h"
#include "services/router/membership.h"

namespace sightline {

bool SameRerankers(const std::vector<RerankerInfo>& a, const std::vector<RerankerInfo>& b);

// As far as the router goes by it; progress and reasons are for people.
bool SayTheSame(const std::vector<GenerationStatus>& a, const std::vector<GenerationStatus>& b);

// By SHA-256 of the model.
using ModelPrecisions = std::map<std::string, std::string>;

// Of the models that it computes with; those in "" are left out, as with servers that do not tell.
ModelPrecisions PrecisionsOf(const ServerStatus& status);

// Whether a server that says this holds its part of the generation for that set, whose index has
// `shard_count` shards by the configuration.
bool Holds(const GenerationStatus& said, const ReplicaSetId& id, int shard_count);

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_ROUTER_BACKEND_WORD_H_
