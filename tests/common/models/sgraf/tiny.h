// Tiny models of this family.
#ifndef SIGHTLINE_TESTS_COMMON_MODELS_SGRAF_TINY_H_
#define SIGHTLINE_TESTS_COMMON_MODELS_SGRAF_TINY_H_

#include "tests/common/models/tiny_family.h"

namespace sightline {

TinyFamily TinySaf();
TinyFamily TinySgr();
// SAF with T-EMDE in the place of the global node.
TinyFamily TinyTemde();
TinyFamily TinyWithoutGlobalNode(bundle::v1::SgrafSpec::Module module);

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_COMMON_MODELS_SGRAF_TINY_H_
