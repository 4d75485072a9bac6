// What masked objectives hide and have predicted.  A draw is a function of its input and of the
// state of `random`; seeded with RowSeed() a row's masks depend on seed, step and row alone.
//
// No torch in here.
#ifndef SIGHTLINE_COMMON_TRAINING_OBJECTIVES_MASKING_H_
#define SIGHTLINE_COMMON_TRAINING_OBJECTIVES_MASKING_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "common/training/random.h"

namespace sightline {

// What of the other tower a masked row is given before its head ("LightningDOT", Sun et al.,
// 2021, adds; the released configuration gives nothing, which is plain masked modelling).
enum class GlobalVector { kNone, kAdd, kMultiply };

// Of two towers: whose word embeddings a text's masked words are predicted by.  LightningDOT's
// released code has the image tower's.
enum class WordTable { kImage, kText };

// How tokens are masked (Devlin et al., 2019).
struct TokenMasking {
  double share = 0.15;  // probability with which a token becomes a target
  double masked = 0.8;  // probability with which a target is shown as mask_id
  double random = 0.1;  // ... as a random token; else it is shown as it is
  int32_t mask_id = 0;
  // Random tokens are random_begin <= id < random_end: the vocabulary without special tokens,
  // from 106 on for BERT's cased one.
  int32_t random_begin = 0;
  int32_t random_end = 0;
  // If there are any, they alone become targets in a text that has one of them, so that what is
  // seldom hidden and hard to tell is hidden often, as attributes and relations are by "ERNIE-ViL"
  // (Yu et al., 2021).
  std::vector<int32_t> words;
};

// InvalidArgument, every problem at once: probabilities out of 0 to 1, or ids that are not among
// the `vocabulary_size` tokens, or no token to draw.
absl::Status CheckTokenMasking(const TokenMasking& masking, int64_t vocabulary_size);

// Each of `count` places with probability `share`, in rising order, and one, drawn evenly, if
// that leaves none.  Of no places none.
std::vector<int64_t> ChoosePlaces(int64_t count, double share, Random* random);

struct MaskedTokens {
  std::vector<int32_t> tokens;   // all, as they are shown
  std::vector<int64_t> places;   // of the targets, in rising order
  std::vector<int32_t> targets;  // what stands there in truth
};

// `tokens` are a text's without special ones, or the words read in a picture; at least one
// becomes a target.
MaskedTokens MaskTokens(absl::Span<const int32_t> tokens, const TokenMasking& masking,
                        Random* random);

struct CoMasked {
  MaskedTokens caption;
  std::vector<int32_t> scene;
};

// Masks a caption so that the words read in its picture, `scene`, do not give the targets away:
// there each token that is a target's is shown as mask_id, however the caption shows it.  If the
// caption has a token of the scene that is no target, one target, drawn evenly, is given up for
// one such token, drawn evenly: copying between the two is what is to be learnt (scene-text
// aware pre-training, co-masking).
CoMasked CoMaskTokens(absl::Span<const int32_t> caption, absl::Span<const int32_t> scene,
                      const TokenMasking& masking, Random* random);

// Regions to mask: each with probability `share`, at least one ("UNITER", Chen et al., 2020;
// 0.15).
inline std::vector<int64_t> MaskRegions(int64_t count, double share, Random* random) {
  return ChoosePlaces(count, share, random);
}

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_TRAINING_OBJECTIVES_MASKING_H_
