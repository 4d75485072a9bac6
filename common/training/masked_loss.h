// The loss of a batch of which words or regions are hidden, and its gradients: what the network
// makes of the rest, a head of pre-training, an objective, and passes that fit into memory.
//
// Losses are means over all that is predicted in the batch; each pass counts by its share of that,
// so but for rounding numbers are those of one pass: dropout is drawn by pairs (item_keys.h).  So
// they are of several processes of which each has a part of the batch.
//
// Includes torch: only .cc files of common/training and its tests include this.
#ifndef SIGHTLINE_COMMON_TRAINING_MASKED_LOSS_H_
#define SIGHTLINE_COMMON_TRAINING_MASKED_LOSS_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/call_context.h"
#include "common/models/network/masked_network.h"
#include "common/training/objectives/heads.h"
#include "common/training/objectives/loss.h"
#include "common/training/objectives/masking.h"
#include "common/training/objectives/registry.h"
#include "common/training/world.h"

namespace sightline {

// A text with its image, as they are shown.
struct MaskedPair {
  std::vector<int32_t> tokens;  // special ones included
  ImageNumbers image;           // with the ids that are shown and the true features
  std::vector<int64_t> hidden;  // regions
  // Of objectives of regions' classes: as many probabilities of each region of `image`.
  std::vector<float> soft_labels;
  // Of objectives of words: where those that are predicted stand, in `tokens` or, of scene text,
  // in image.ids; of an image's tags, in image.ids too; and what all of these are, tags last.
  std::vector<int64_t> places;
  std::vector<int64_t> tag_places;
  std::vector<int32_t> targets;
};

struct MaskedLossOptions {
  ObjectiveOptions objective;
  // What a row is given of the other tower; of one stream nothing.
  GlobalVector other_tower = GlobalVector::kNone;
  // Whose word embeddings a text's words are predicted by.
  WordTable word_table = WordTable::kImage;
  // Most rows (tokens and regions) that are computed at once, unless one pair has more; 0: any
  // number.
  int64_t pass_rows = 0;
  // Of dropout; the same in all processes.
  uint64_t seed = 0;
  // Who has the other parts of the batch; as IsAlone has it.  It outlives the call.
  TrainingWorld* world = nullptr;
  // What the batch is computed for, looked at between passes.
  CallContext call = CallContext::Unbounded();
};

// Adds the loss's gradients to those of network and heads; of several processes the part that
// `batch`, this one's, has in them.  Returns the loss of the whole batch without its graph: 0
// where nothing is predicted.  Errors as the call's, which all processes then have, and as
// TrainingWorld's.  REQUIRES: an objective that predicts what `heads` has a head for
// (Objective::predicted), and pairs that fit it and the network.
absl::StatusOr<Loss> AddMaskedGradients(const Objective& objective,
                                        const MaskedLossOptions& options,
                                        const std::vector<MaskedPair>& batch,
                                        const MaskedNetwork& network,
                                        const PretrainingHeads& heads);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_TRAINING_MASKED_LOSS_H_
