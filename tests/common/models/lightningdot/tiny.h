// Tiny models of this family.
#ifndef SIGHTLINE_TESTS_COMMON_MODELS_LIGHTNINGDOT_TINY_H_
#define SIGHTLINE_TESTS_COMMON_MODELS_LIGHTNINGDOT_TINY_H_

#include "tests/common/models/tiny_family.h"

namespace sightline {

TinyFamily TinyLightningDot();
// With projections to 12 numbers, and the text in pictures.
TinyFamily TinySceneText();

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_COMMON_MODELS_LIGHTNINGDOT_TINY_H_
