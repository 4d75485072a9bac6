#include "tests/common/models/oscar/tiny.h"

namespace sightline {

using bundle::v1::EmbeddingSpec;
using bundle::v1::TokenizerSpec;

TinyFamily TinyOscar() {
  TinyFamily family{"oscar", TinyManifest("oscar", TokenizerSpec::WORDPIECE), TinyWordPieces(), 0,
                    false};
  AddTinyTransformer(16, &family.manifest);
  AddTinyEmbedding(16, EmbeddingSpec::COSINE, &family.manifest);
  AddTinyCrossEncoder("softmax_match", &family.manifest);
  family.manifest.mutable_tags()->set_max_token_count(16);
  family.manifest.mutable_tags()->set_token_type(1);
  return family;
}

std::vector<TinyFamily> oscar::TinyOnes() {
  return {TinyOscar()};
}

}  // namespace sightline
