// The cross-encoder around a family's network: checks features, groups pairs, runs, reads scores
// out.
//
// Includes torch: only .cc files of common/models and common/training include this.
#ifndef SIGHTLINE_COMMON_MODELS_NETWORK_NETWORK_CROSS_ENCODER_H_
#define SIGHTLINE_COMMON_MODELS_NETWORK_NETWORK_CROSS_ENCODER_H_

#include <memory>

#include "common/embedding/score.h"
#include "common/models/model.h"
#include "common/models/network/model_core.h"

namespace sightline {

// `core`, which outlives the result, has a network with a cross-encoder whose head gives what
// `kind` needs.
std::unique_ptr<const CrossEncoder> NewNetworkCrossEncoder(const ModelCore* core, ScoreKind kind);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_MODELS_NETWORK_NETWORK_CROSS_ENCODER_H_
