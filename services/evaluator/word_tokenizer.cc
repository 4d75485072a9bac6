#include "services/evaluator/word_tokenizer.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/checksum.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"
#include "common/base/status_within.h"
#include "common/models/inputs/bundle_tokenizer.h"
#include "common/tokenizer/basic_tokenizer.h"
#include "common/tokenizer/make_tokenizer.h"

namespace sightline {
namespace {

constexpr char kInsideWord[] = "##";  // how WordPiece begins a token that goes on with a word

std::string KeyOf(absl::Span<const int32_t> ids) {
  std::string key;
  for (const int32_t id : ids) absl::StrAppend(&key, id, " ");
  return key;
}

}  // namespace

absl::StatusOr<WordTokenizer> WordTokenizer::OfBundle(const ModelBundle& bundle) {
  const bundle::v1::TokenizerSpec& spec = bundle.manifest.tokenizer();
  const std::string path = bundle.FilePath(spec.vocabulary_file());
  ASSIGN_OR_RETURN(const std::string vocabulary, ReadFile(path));
  ASSIGN_OR_RETURN(auto tokenizer, Within(path, NewTokenizer(spec, vocabulary)));
  const bool wordpiece = spec.kind() == bundle::v1::TokenizerSpec::WORDPIECE;
  return WordTokenizer(std::move(tokenizer), wordpiece, wordpiece && spec.lowercase(),
                       Sha256Hex(vocabulary));
}

absl::StatusOr<WordTokenizer> WordTokenizer::OfVocabulary(const std::string& path, bool lowercase) {
  ASSIGN_OR_RETURN(const std::string vocabulary, ReadFile(path));
  ASSIGN_OR_RETURN(auto tokenizer,
                   Within(path, MakeTokenizer(TokenizerKind::kWordPiece, vocabulary, lowercase)));
  return WordTokenizer(std::move(tokenizer), /*wordpiece=*/true, lowercase, Sha256Hex(vocabulary));
}

absl::StatusOr<std::vector<TokenizedWord>> WordTokenizer::Words(absl::string_view text) const {
  ASSIGN_OR_RETURN(std::vector<std::string> words, SplitIntoWords(text, lowercase_));
  std::vector<TokenizedWord> tokenized;
  for (std::string& word : words) {
    ASSIGN_OR_RETURN(TokenizedWord own, Tokenized(std::move(word)));
    tokenized.push_back(std::move(own));
  }
  return tokenized;
}

absl::StatusOr<TokenizedWord> WordTokenizer::Tokenized(std::string word) const {
  TokenizedWord tokenized;
  ASSIGN_OR_RETURN(const std::vector<int32_t> ids, tokenizer_->Encode(word));
  for (const int32_t id : ids) tokenized.tokens.emplace_back(tokenizer_->Spelling(id));
  tokenized.unknown = std::count(ids.begin(), ids.end(), tokenizer_->unk_id()) > 0;
  tokenized.key = KeyOf(ids);
  if (tokenized.unknown) absl::StrAppend(&tokenized.key, word);
  tokenized.text = std::move(word);
  return tokenized;
}

std::vector<std::string> WordTokenizer::KeysOf(absl::Span<const int32_t> ids) const {
  std::vector<std::string> keys;
  for (size_t begin = 0; begin < ids.size();) {
    size_t end = begin + 1;
    while (end < ids.size() && absl::StartsWith(tokenizer_->Spelling(ids[end]), kInsideWord)) ++end;
    const int32_t first = ids[begin];
    const bool special = first == tokenizer_->cls_id() || first == tokenizer_->sep_id();
    if (!special) keys.push_back(KeyOf(ids.subspan(begin, end - begin)));
    begin = end;
  }
  return keys;
}

}  // namespace sightline
