// The tokenizer that a bundle's manifest describes.
#ifndef SIGHTLINE_COMMON_MODELS_INPUTS_BUNDLE_TOKENIZER_H_
#define SIGHTLINE_COMMON_MODELS_INPUTS_BUNDLE_TOKENIZER_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/bundle/model_bundle.h"
#include "common/tokenizer/make_tokenizer.h"
#include "common/tokenizer/tokenizer.h"

namespace sightline {

// InvalidArgument for a kind that there is not.
absl::StatusOr<TokenizerKind> TokenizerKindOf(const bundle::v1::TokenizerSpec& spec);

// `vocabulary` is the content of the spec's file.  InvalidArgument for a kind that there is
// not, and for a vocabulary that the kind refuses.
absl::StatusOr<std::unique_ptr<Tokenizer>> NewTokenizer(const bundle::v1::TokenizerSpec& spec,
                                                        absl::string_view vocabulary);

// Rows of the manifest's word table, as its family states them.
int64_t VocabularySizeOf(const bundle::v1::ModelBundleManifest& manifest);
void SetVocabularySize(int64_t size, bundle::v1::ModelBundleManifest* manifest);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_MODELS_INPUTS_BUNDLE_TOKENIZER_H_
