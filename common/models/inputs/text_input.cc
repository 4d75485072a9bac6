#include "common/models/inputs/text_input.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "common/base/files.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/models/inputs/bundle_tokenizer.h"
#include "common/models/inputs/feature_tensors.h"
#include "common/models/inputs/manifest_checks.h"

namespace sightline {

absl::StatusOr<std::unique_ptr<TextInput>> TextInput::Create(const ModelBundle& bundle) {
  const bundle::v1::TokenizerSpec& spec = bundle.manifest.tokenizer();
  ASSIGN_OR_RETURN(const std::string path, ListedFile(bundle, spec.vocabulary_file()));
  ASSIGN_OR_RETURN(std::string vocabulary, ReadFile(path));
  auto tokenizer = NewTokenizer(spec, vocabulary);
  if (!tokenizer.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": ", tokenizer.status().message()));
  }
  const int64_t vocabulary_size = VocabularySizeOf(bundle.manifest);
  if ((*tokenizer)->vocabulary_size() != vocabulary_size) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, " has ", (*tokenizer)->vocabulary_size(),
                     " tokens, but the word table has ", vocabulary_size,
                     " rows; the vocabulary must be the one that the weights were trained with"));
  }
  return absl::WrapUnique(new TextInput(*std::move(tokenizer), spec.max_token_count()));
}

absl::StatusOr<Tokens> TextInput::Tokenize(absl::string_view text) const {
  if (text.size() > limits::kMaxTextBytes) {
    return absl::InvalidArgumentError(absl::StrCat("the text has ", text.size(), " bytes, at most ",
                                                   limits::kMaxTextBytes, " are allowed"));
  }
  ASSIGN_OR_RETURN(std::vector<int32_t> pieces, tokenizer_->Encode(text));
  if (pieces.empty()) {
    return absl::InvalidArgumentError("the text is empty: it has no visible characters");
  }
  const size_t kept = std::min<size_t>(pieces.size(), max_token_count_ - 2);
  Tokens tokens;
  tokens.ids.reserve(kept + 2);
  tokens.ids.push_back(tokenizer_->cls_id());
  tokens.ids.insert(tokens.ids.end(), pieces.begin(), pieces.begin() + kept);
  tokens.ids.push_back(tokenizer_->sep_id());
  return tokens;
}

absl::StatusOr<std::vector<int32_t>> TextInput::TokensOf(const std::vector<std::string>& words,
                                                         int64_t max_count) const {
  std::vector<int32_t> ids;
  for (const std::string& word : words) {
    // Words are apart, so each can be tokenized by itself, and the rest need not be.
    if (ids.size() >= static_cast<size_t>(max_count)) break;
    ASSIGN_OR_RETURN(const std::vector<int32_t> pieces, tokenizer_->Encode(word));
    ids.insert(ids.end(), pieces.begin(), pieces.end());
  }
  ids.resize(std::min<size_t>(ids.size(), max_count));
  return ids;
}

absl::Status TextInput::Check(absl::Span<const int32_t> ids, int64_t max_count) const {
  if (ids.empty() || ids.size() > static_cast<size_t>(max_count)) {
    return absl::InvalidArgumentError(
        absl::StrCat("has ", ids.size(), " token ids, the model reads 1 to ", max_count));
  }
  for (size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] < 0 || ids[i] >= tokenizer_->vocabulary_size()) {
      return absl::InvalidArgumentError(absl::StrCat("token id ", ids[i], " at position ", i,
                                                     " is outside the vocabulary of ",
                                                     tokenizer_->vocabulary_size()));
    }
  }
  return absl::OkStatus();
}

ItemFeatures TextInput::ToFeatures(const Tokens& tokens, absl::string_view name) {
  FeatureTensor tensor;
  tensor.name = std::string(name);
  tensor.dtype = Dtype::kInt32;
  tensor.rows = tokens.ids.size();
  tensor.columns = 1;
  tensor.bytes.assign(reinterpret_cast<const char*>(tokens.ids.data()),
                      tokens.ids.size() * sizeof(int32_t));
  ItemFeatures features;
  features.tensors.push_back(std::move(tensor));
  return features;
}

absl::StatusOr<Tokens> TextInput::FromFeatures(const ItemFeatures& features,
                                               absl::string_view name) const {
  ASSIGN_OR_RETURN(const FeatureTensor* tensor,
                   RequireTensor(features, name, {Dtype::kInt32}, max_token_count_,
                                 /*columns=*/1));
  Tokens tokens;
  tokens.ids.resize(tensor->rows);
  std::memcpy(tokens.ids.data(), tensor->bytes.data(), tensor->bytes.size());
  RETURN_IF_ERROR(Check(tokens.ids));
  return tokens;
}

}  // namespace sightline
