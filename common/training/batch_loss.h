// The loss of a batch and its gradients: a network, an objective, and passes that fit into memory.
//
//   ASSIGN_OR_RETURN(Loss loss, AddGradients(*objective, options, batch, &learner));
//
// A loss that sees the whole batch, as towers' do, and a batch that does not fit with gradients:
// all embeddings are computed without them, the loss gives each embedding its gradient, and each
// pass is computed again to hand that on ("Scaling Deep Contrastive Learning Batch Size under
// Memory Limited Setup", Gao et al., 2021).  But for rounding, numbers are those of one pass:
// dropout is drawn by items (item_keys.h), texts, images and pairs.
//
// Several processes each compute a part of the batch, and their gradients add up to those of one:
// embeddings, and rows of a matrix, are gathered, the loss of all of them gives those of this
// process their gradient, and problems count by their share.  Each prepares all texts and images of
// a matrix, so that norms over a batch see it whole.
//
// Includes torch: only .cc files of common/training and its tests include this.
#ifndef SIGHTLINE_COMMON_TRAINING_BATCH_LOSS_H_
#define SIGHTLINE_COMMON_TRAINING_BATCH_LOSS_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/call_context.h"
#include "common/models/network/trainable_network.h"
#include "common/training/objectives/loss.h"
#include "common/training/objectives/registry.h"
#include "common/training/world.h"

namespace sightline {

// What a step learns from, as the network reads it.  What spans and pointers name outlives the
// step.  Of several processes each has its part (TrainingWorld::PartOf) of the texts and of the
// images, or of the problems with what they need; but of a matrix all of it.
struct PairBatch {
  // B texts and B + D images; image i < B is right for text i.
  std::vector<TokenSpan> texts;
  std::vector<const ImageNumbers*> images;
  // As tower_losses.h has it, of the whole batch; undefined where nothing is related.
  at::Tensor related;
  // Wrong for all of the batch, made or found to be so, of this process's rows, for objectives that
  // take them, and whether any process may have some.
  std::vector<TokenSpan> hard_texts;
  std::vector<const ImageNumbers*> hard_images;
  bool has_hard_texts = false, has_hard_images = false;
  // Of an objective over pairs: problems of `candidates` pairs each, one after another, of which
  // the first is right.  Numbers of texts and images.
  std::vector<std::pair<int64_t, int64_t>> pairs;
  int64_t candidates = 0;
  // Of distillation: what the teacher scores the candidates of each problem, problems x candidates,
  // as the raw numbers whose softmax is learnt.
  at::Tensor taught;
};

struct BatchLossOptions {
  ObjectiveOptions objective;
  // Most rows (tokens and regions) that are computed at once, unless one item has more; 0: any
  // number.  An objective over a matrix of pairs is computed at once in any case, since norms over
  // a batch see it whole.
  int64_t pass_rows = 0;
  // Of distillation: whether the towers' inner products learn, rather than the scores of pairs.
  bool distils_towers = false;
  // Of dropout; the same in all processes.
  uint64_t seed = 0;
  // Who has the other parts; as IsAlone has it.  It outlives the call.
  TrainingWorld* world = nullptr;
  // What the batch is computed for, looked at between passes, and rows of a matrix.
  CallContext call = CallContext::Unbounded();
};

// Adds the loss's gradients to those of the module, and to that of `log_scale` where the objective
// reads one; of several processes a part of them, which add up to the whole.  Returns the loss of
// the whole batch without its graph.  InvalidArgument for an objective that is not of
// texts and images (masked tokens, ...), for a network that lacks the towers or the scores that it
// reads, for a batch that lacks the rest, and for one in parts where norms have to see it whole.
// Else errors as the call's and as TrainingWorld's; gradients, and running statistics of norms, are
// then worth nothing.  Of several processes some may fail and others not, but none waits for one
// that has: they are to agree afterwards (TrainingWorld::Agree).
absl::StatusOr<Loss> AddGradients(const Objective& objective, const BatchLossOptions& options,
                                  const PairBatch& batch, const TrainableNetwork& learner,
                                  const at::Tensor& log_scale = {});

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_TRAINING_BATCH_LOSS_H_
