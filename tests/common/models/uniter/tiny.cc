#include "tests/common/models/uniter/tiny.h"

namespace sightline {

using bundle::v1::TokenizerSpec;

TinyFamily TinyUniter() {
  TinyFamily family{"uniter", TinyManifest("uniter", TokenizerSpec::WORDPIECE), TinyWordPieces(), 0,
                    false};
  AddTinyTransformer(10, &family.manifest);
  AddTinyCrossEncoder("rank_raw", &family.manifest);
  return family;
}

std::vector<TinyFamily> uniter::TinyOnes() {
  return {TinyUniter()};
}

}  // namespace sightline
