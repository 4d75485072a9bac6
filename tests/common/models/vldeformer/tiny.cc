#include "tests/common/models/vldeformer/tiny.h"

namespace sightline {

using bundle::v1::EmbeddingSpec;
using bundle::v1::TokenizerSpec;

TinyFamily TinyVlDeformer() {
  TinyFamily family{"vldeformer", TinyManifest("vldeformer", TokenizerSpec::WORDPIECE),
                    TinyWordPieces(), 0, false};
  AddTinyTransformer(16, &family.manifest);
  AddTinyEmbedding(16, EmbeddingSpec::COSINE, &family.manifest);
  family.manifest.mutable_tags()->set_max_token_count(7);
  family.manifest.mutable_tags()->set_token_type(1);
  family.manifest.mutable_fixed_lengths()->set_text_length(12);
  family.manifest.mutable_fixed_lengths()->set_tag_length(7);
  family.manifest.mutable_fixed_lengths()->set_region_count(9);
  return family;
}

std::vector<TinyFamily> vldeformer::TinyOnes() {
  return {TinyVlDeformer()};
}

}  // namespace sightline
