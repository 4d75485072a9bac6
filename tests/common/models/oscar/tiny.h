// Tiny models of this family.
#ifndef SIGHTLINE_TESTS_COMMON_MODELS_OSCAR_TINY_H_
#define SIGHTLINE_TESTS_COMMON_MODELS_OSCAR_TINY_H_

#include "tests/common/models/tiny_family.h"

namespace sightline {

// Bi-encoder and cross-encoder, with tags.
TinyFamily TinyOscar();

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_COMMON_MODELS_OSCAR_TINY_H_
