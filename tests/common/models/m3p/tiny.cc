#include "tests/common/models/m3p/tiny.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/support/sentencepiece_model.h"

namespace sightline {

using bundle::v1::EmbeddingSpec;
using bundle::v1::TokenizerSpec;

TinyFamily TinyM3p() {
  TinyFamily family{"m3p", TinyManifest("m3p", TokenizerSpec::SENTENCEPIECE), "", 0, true};
  std::vector<std::string> pieces;
  for (const std::string& word : TinyWords()) pieces.push_back(absl::StrCat("\xe2\x96\x81", word));
  family.vocabulary = SentencePieceModelBytes(pieces);
  AddTinyTransformer(10, &family.manifest);
  family.manifest.mutable_transformer()->set_token_type_count(1);
  AddTinyEmbedding(16, EmbeddingSpec::COSINE, &family.manifest);
  AddTinyCrossEncoder("softmax_match", &family.manifest);
  return family;
}

std::vector<TinyFamily> m3p::TinyOnes() {
  return {TinyM3p()};
}

}  // namespace sightline
