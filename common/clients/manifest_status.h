// What a server says of the generations and models that it holds, made from their
// manifests.
#ifndef SIGHTLINE_COMMON_CLIENTS_MANIFEST_STATUS_H_
#define SIGHTLINE_COMMON_CLIENTS_MANIFEST_STATUS_H_

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/api/server_status.h"
#include "common/bundle/loaded_model.h"
#include "common/generations/generation_table.h"
#include "common/generations/router_uses.h"
#include "sightline/bundle/v1/generation.pb.h"

namespace sightline {

// `held_shards` ascending.  A reranker's combination is what its bundle declares for the
// direction in which such items are found if that is among `models`, else the default.  `now` is
// of the clock that the entry's times are of.
GenerationStatus DescribeGeneration(const HeldGeneration& entry, std::vector<int> held_shards,
                                    const LoadedModels& models, absl::Time now);

// What a router told, for the GenerationFollower.
std::vector<GenerationUse> UsesOf(const StatusRequest& request);

std::vector<ModelStatus> DescribeModels(const LoadedModels& models);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_CLIENTS_MANIFEST_STATUS_H_
