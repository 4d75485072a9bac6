// Tiny models of this family.
#ifndef SIGHTLINE_TESTS_COMMON_MODELS_M3P_TINY_H_
#define SIGHTLINE_TESTS_COMMON_MODELS_M3P_TINY_H_

#include "tests/common/models/tiny_family.h"

namespace sightline {

// Bi-encoder and cross-encoder.
TinyFamily TinyM3p();

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_COMMON_MODELS_M3P_TINY_H_
