// Tiny models of this family.
#ifndef SIGHTLINE_TESTS_COMMON_MODELS_VLDEFORMER_TINY_H_
#define SIGHTLINE_TESTS_COMMON_MODELS_VLDEFORMER_TINY_H_

#include "tests/common/models/tiny_family.h"

namespace sightline {

TinyFamily TinyVlDeformer();

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_COMMON_MODELS_VLDEFORMER_TINY_H_
