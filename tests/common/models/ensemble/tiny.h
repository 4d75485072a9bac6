// Tiny models of this family.
#ifndef SIGHTLINE_TESTS_COMMON_MODELS_ENSEMBLE_TINY_H_
#define SIGHTLINE_TESTS_COMMON_MODELS_ENSEMBLE_TINY_H_

#include <string>
#include <vector>

#include "common/bundle/model_bundle.h"
#include "tests/common/models/tiny_family.h"

namespace sightline {

// Of a SAF and an SGR.
TinyFamily TinyEnsemble();

// An ensemble of bundles that lie in `store`.
ModelBundle MakeEnsemble(const std::string& store, const std::vector<ModelBundle>& members);

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_COMMON_MODELS_ENSEMBLE_TINY_H_
