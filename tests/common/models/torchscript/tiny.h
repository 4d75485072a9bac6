// Tiny models of this family.
#ifndef SIGHTLINE_TESTS_COMMON_MODELS_TORCHSCRIPT_TINY_H_
#define SIGHTLINE_TESTS_COMMON_MODELS_TORCHSCRIPT_TINY_H_

#include "tests/common/models/tiny_family.h"

namespace sightline {

// What tiny_scripts.h makes.
TinyFamily TinyTorchScript();

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_COMMON_MODELS_TORCHSCRIPT_TINY_H_
