#include "tests/common/models/lightningdot/tiny.h"

namespace sightline {

using bundle::v1::EmbeddingSpec;
using bundle::v1::TokenizerSpec;

TinyFamily TinyLightningDot() {
  TinyFamily family{"lightningdot", TinyManifest("lightningdot", TokenizerSpec::WORDPIECE),
                    TinyWordPieces(), 0, false};
  AddTinyTransformer(10, &family.manifest);
  AddTinyEmbedding(16, EmbeddingSpec::INNER_PRODUCT, &family.manifest);
  return family;
}

TinyFamily TinySceneText() {
  TinyFamily family = TinyLightningDot();
  family.name = "lightningdot with scene text";
  family.manifest.mutable_transformer()->set_projection_hidden_size(20);
  family.manifest.mutable_embedding()->set_dimension(12);
  family.manifest.mutable_scene_text()->set_max_token_count(6);
  family.manifest.mutable_scene_text()->set_first_position(1);
  return family;
}

std::vector<TinyFamily> lightningdot::TinyOnes() {
  return {TinyLightningDot(), TinySceneText()};
}

}  // namespace sightline
