// How well a network finds development pictures: what its weights are chosen by.
//
// Includes torch: only .cc files of common/training and its tests include this.
#ifndef SIGHTLINE_COMMON_TRAINING_DEVELOPMENT_H_
#define SIGHTLINE_COMMON_TRAINING_DEVELOPMENT_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/call_context.h"
#include "common/models/network/trainable_network.h"
#include "common/training/development_report.h"
#include "common/training/pair_corpus.h"
#include "common/training/world.h"

namespace sightline {

// Every caption looks for its picture and every picture for one of its captions among those of the
// first `pictures` of `corpus` (0: all), in each of `ways`, of which there is one at least and
// which the network has.  Right is what PairCorpus::MayBeRight; equal scores count against it, and
// so does one that is no number.  In evaluation mode, which is restored to what it was.  `step` is
// left 0.  Of several processes each scores some captions, and all report the same; `world` as
// IsAlone has it.  Errors as PairCorpus::ReadPicture, the network's, the call's, and
// TrainingWorld's: all processes' are each one's.
absl::StatusOr<DevelopmentReport> LookAtDevelopment(const TrainableNetwork& learner,
                                                    const PairCorpus& corpus, int64_t pictures,
                                                    const std::vector<DevelopmentWay>& ways,
                                                    const CallContext& call,
                                                    TrainingWorld* world = nullptr);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_TRAINING_DEVELOPMENT_H_
