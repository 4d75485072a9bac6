// What a run that hides words and regions has beside its network: heads that predict them, and the
// ids by which its vocabulary hides.
//
// Includes torch: only .cc files of common/training and its tests include this.
#ifndef SIGHTLINE_COMMON_TRAINING_PRETRAINING_H_
#define SIGHTLINE_COMMON_TRAINING_PRETRAINING_H_

#include <c10/core/Device.h>

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/bundle/model_bundle.h"
#include "common/training/objectives/heads.h"
#include "common/training/objectives/masking.h"
#include "common/training/recipe.h"

namespace sightline {

// Those that the recipe's objectives predict by, on `device`; empty if there is none.  The head of
// regions' classes has `class_count`, of the soft labels that are learnt from; 0: there are none.
// A head is as the bundle's weights have it if they hold all of it, in the names of heads.h, else
// as BERT begins, by the recipe's seed; so does a head of so many other classes.  REQUIRES: a
// recipe that passes CheckRecipe, a bundle with a transformer. Errors as ReadBundleFile and
// Safetensors::FromBytes; InvalidArgument for a head of other shapes, and for an objective of
// classes where there are no soft labels.
absl::StatusOr<PretrainingHeads> MakePretrainingHeads(const Recipe& recipe,
                                                      const ModelBundle& start, int64_t class_count,
                                                      c10::Device device);

// How tokens of the bundle's vocabulary are masked: random ones are all from the first on that is
// not in brackets, as special and unused ones are, "[SEP]", "[unused1]".  InvalidArgument for a
// vocabulary without "[MASK]" or without words.  Targets are `words`, with spaces between, of which
// each has to be a token, or, of none, all.
absl::StatusOr<TokenMasking> MaskingOf(const ModelBundle& start, absl::string_view words = "");

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_TRAINING_PRETRAINING_H_
