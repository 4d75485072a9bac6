#include "common/tokenizer/wordpiece.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/base/utf8.h"
#include "common/tokenizer/basic_tokenizer.h"

namespace sightline {
namespace {

constexpr size_t kMaxVocabularyTokens = 1'000'000;
constexpr size_t kMaxTokenBytes = 512;
// A longer word is unknown as a whole, in characters; the number of the authors' release
// (some later ports have 100).  It also bounds the work per word.
constexpr int kMaxWordCharacters = 200;
constexpr absl::string_view kInnerPrefix = "##";

absl::Status LineError(size_t line, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("vocabulary line ", line, " ", what));
}

bool StartsCharacter(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0) != 0x80;
}

int CountCharacters(absl::string_view word) {
  return static_cast<int>(std::count_if(word.begin(), word.end(), StartsCharacter));
}

// The length of the longest entry that `text` starts with, cut between characters; 0 if
// there is none.
size_t LongestMatch(absl::string_view text, size_t longest_entry,
                    const absl::flat_hash_map<absl::string_view, int32_t>& entries, int32_t* id) {
  for (size_t length = std::min(text.size(), longest_entry); length > 0; --length) {
    if (length < text.size() && !StartsCharacter(text[length])) continue;
    const auto found = entries.find(text.substr(0, length));
    if (found == entries.end()) continue;
    *id = found->second;
    return length;
  }
  return 0;
}

}  // namespace

WordPieceTokenizer::WordPieceTokenizer(absl::string_view vocabulary,
                                       const WordPieceOptions& options)
    : options_(options), vocabulary_(vocabulary) {}

absl::StatusOr<std::unique_ptr<WordPieceTokenizer>> WordPieceTokenizer::Create(
    absl::string_view vocabulary, const WordPieceOptions& options) {
  std::unique_ptr<WordPieceTokenizer> tokenizer(new WordPieceTokenizer(vocabulary, options));
  RETURN_IF_ERROR(tokenizer->IndexVocabulary());
  RETURN_IF_ERROR(tokenizer->FindSpecialTokens());
  return tokenizer;
}

absl::Status WordPieceTokenizer::IndexVocabulary() {
  absl::string_view rest = vocabulary_;
  while (!rest.empty()) {
    const size_t line = tokens_.size() + 1;
    const size_t end = std::min(rest.find('\n'), rest.size());
    absl::string_view token = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (absl::EndsWith(token, "\r")) token.remove_suffix(1);

    if (line > kMaxVocabularyTokens) {
      return LineError(line, absl::StrCat("is one too many; at most ", kMaxVocabularyTokens,
                                          " tokens are taken"));
    }
    if (token.empty()) return LineError(line, "is empty");
    if (token.size() > kMaxTokenBytes) {
      return LineError(
          line, absl::StrCat("has ", token.size(), " bytes; a token has at most ", kMaxTokenBytes));
    }
    RETURN_IF_ERROR(CheckUtf8(token, absl::StrCat("vocabulary line ", line)));
    RETURN_IF_ERROR(AddToken(token, line));
  }
  return absl::OkStatus();
}

absl::Status WordPieceTokenizer::AddToken(absl::string_view token, size_t line) {
  // "##" by itself continues nothing: it is a piece of its own that no word yields.
  const bool inner = token.size() > kInnerPrefix.size() && absl::StartsWith(token, kInnerPrefix);
  Pieces& pieces = inner ? inner_ : first_;
  const absl::string_view piece = inner ? token.substr(kInnerPrefix.size()) : token;
  const auto [position, added] = pieces.ids.emplace(piece, static_cast<int32_t>(line - 1));
  if (!added) {
    return LineError(
        line, absl::StrCat("repeats \"", token, "\" of line ", int64_t{position->second} + 1));
  }
  pieces.longest = std::max(pieces.longest, piece.size());
  tokens_.push_back(token);
  return absl::OkStatus();
}

absl::Status WordPieceTokenizer::FindSpecialTokens() {
  SpecialIds special;
  const std::pair<absl::string_view, int32_t*> specials[] = {{"[PAD]", &special.pad},
                                                             {"[UNK]", &special.unk},
                                                             {"[CLS]", &special.cls},
                                                             {"[SEP]", &special.sep},
                                                             {"[MASK]", &special.mask}};
  for (const auto& [name, id] : specials) {
    const auto found = first_.ids.find(name);
    if (found == first_.ids.end()) {
      const bool marked = !tokens_.empty() && absl::StartsWith(tokens_[0], "\xEF\xBB\xBF");
      return absl::InvalidArgumentError(
          absl::StrCat("vocabulary of ", tokens_.size(), " lines has no \"", name,
                       marked ? "\"; it begins with a byte order mark, save it without one"
                              : "\"; is it a WordPiece vocab.txt?"));
    }
    *id = found->second;
  }
  set_special_ids(special);
  return absl::OkStatus();
}

void WordPieceTokenizer::AppendPieces(absl::string_view word, std::vector<int32_t>* ids) const {
  if (CountCharacters(word) > kMaxWordCharacters) {
    ids->push_back(unk_id());
    return;
  }
  const size_t ids_before = ids->size();
  const Pieces* pieces = &first_;
  while (!word.empty()) {
    int32_t id = 0;
    const size_t length = LongestMatch(word, pieces->longest, pieces->ids, &id);
    if (length == 0) {
      // One character that fits nowhere makes the whole word unknown.
      ids->resize(ids_before);
      ids->push_back(unk_id());
      return;
    }
    ids->push_back(id);
    word.remove_prefix(length);
    pieces = &inner_;
  }
}

absl::StatusOr<std::vector<int32_t>> WordPieceTokenizer::Encode(absl::string_view text) const {
  ASSIGN_OR_RETURN(const std::vector<std::string> words, SplitIntoWords(text, options_.lowercase));
  std::vector<int32_t> ids;
  for (const std::string& word : words) AppendPieces(word, &ids);
  return ids;
}

}  // namespace sightline
