// Heads of pre-training in files of weights: tensors beside a model's own, which predict words and
// regions that are hidden.  A family that is learnt so passes them over where it serves; a run that
// hides begins with them (common/training/pretraining.h).
//
//   words            cls.predictions.transform.{dense,LayerNorm}.*, cls.predictions.bias
//   regions' numbers feat_regress.net.{0,2}.*, feat_regress.bias
//   regions' classes region_classifier.net.{0,2,3}.*
//   hidden regions   mask_embedding.weight, one row; in checkpoints row 1 of the image trunk's
//                    img_embeddings.mask_embedding.weight, whose row 0 is what all others add:
//                    nothing
#ifndef SIGHTLINE_COMMON_MODELS_INPUTS_PRETRAINING_HEADS_H_
#define SIGHTLINE_COMMON_MODELS_INPUTS_PRETRAINING_HEADS_H_

#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/bundle/model_bundle.h"
#include "common/formats/safetensors.h"

namespace sightline {

// What their names begin with.
inline constexpr absl::string_view kPretrainingHeadNames[] = {
    "cls.", "feat_regress.", "region_classifier.", "mask_embedding."};

// Whether a tensor of that name is of such a head.
bool IsOfPretrainingHead(absl::string_view name);

// Whether bundles of the family may have them.
bool HoldsPretrainingHeads(absl::string_view family);

struct FoundHeads {
  // Of whole ones alone, by the names above.  Views into what they were found in.
  std::map<std::string, TensorView> tensors;
  // What the names of others begin with, of which a part is missing, holds integers, or has not the
  // shape that a model of that manifest would have.
  std::vector<std::string> torn;
};

// Those that `tensors` hold for a model whose transformer is `spec`.  What a hidden region shows
// comes with a head of regions only: where there is none it has no use.
FoundHeads FindPretrainingHeads(const std::map<std::string, TensorView>& tensors,
                                const bundle::v1::TransformerSpec& spec);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_MODELS_INPUTS_PRETRAINING_HEADS_H_
