// A tiny model of every family.
#ifndef SIGHTLINE_TESTS_COMMON_MODELS_TINY_FAMILIES_H_
#define SIGHTLINE_TESTS_COMMON_MODELS_TINY_FAMILIES_H_

#include <vector>

#include "tests/common/models/tiny_family.h"

namespace sightline {

// Of every family of the registry one at least.
std::vector<TinyFamily> TinyFamilies();

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_COMMON_MODELS_TINY_FAMILIES_H_
