#include "common/tokenizer/vocabulary_builder.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/tokenizer/basic_tokenizer.h"

namespace sightline {
namespace {

constexpr const char* kSpecialTokens[] = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};
constexpr char kInner[] = "##";

// Longer ones are noise (base64, keyboards under cats); WordPiece calls them unknown.
constexpr size_t kMaxWordCharacters = 100;

struct Use {
  int64_t count = 0;  // places where the token could stand
  int64_t saved = 0;  // tokens saved if it stood in all of them
};

// Where each character of `word`, which is UTF-8, begins; and the word's length.
std::vector<size_t> CharacterStarts(const std::string& word) {
  std::vector<size_t> starts;
  for (size_t i = 0; i < word.size(); ++i) {
    if ((word[i] & 0xC0) != 0x80) starts.push_back(i);
  }
  starts.push_back(word.size());
  return starts;
}

std::string Piece(const std::string& word, const std::vector<size_t>& starts, size_t from,
                  size_t length) {
  const std::string text = word.substr(starts[from], starts[from + length] - starts[from]);
  return from == 0 ? text : absl::StrCat(kInner, text);
}

void CountPieces(const std::string& word, int64_t count, size_t max_piece_length,
                 std::set<std::string>* characters, std::map<std::string, Use>* uses) {
  const std::vector<size_t> starts = CharacterStarts(word);
  const size_t length = starts.size() - 1;
  if (length > kMaxWordCharacters) return;
  const auto use = [&](size_t from, size_t piece_length) {
    Use& of_piece = (*uses)[Piece(word, starts, from, piece_length)];
    of_piece.count += count;
    of_piece.saved += count * static_cast<int64_t>(piece_length - 1);
  };
  for (size_t from = 0; from < length; ++from) {
    const std::string character = word.substr(starts[from], starts[from + 1] - starts[from]);
    characters->insert(character);
    for (size_t n = 2; n <= std::min(max_piece_length, length - from); ++n) use(from, n);
  }
  if (length > max_piece_length) use(0, length);
}

}  // namespace

absl::Status VocabularyBuilder::Add(absl::string_view text) {
  ASSIGN_OR_RETURN(std::vector<std::string> words, SplitIntoWords(text, options_.lowercase));
  for (std::string& word : words) ++words_[std::move(word)];
  word_count_ += static_cast<int64_t>(words.size());
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> VocabularyBuilder::Build() const {
  std::set<std::string> characters;
  std::map<std::string, Use> uses;
  for (const auto& [word, count] : words_) {
    CountPieces(word, count, static_cast<size_t>(std::max(options_.max_piece_length, 2)),
                &characters, &uses);
  }
  std::vector<std::string> tokens(std::begin(kSpecialTokens), std::end(kSpecialTokens));
  tokens.insert(tokens.end(), characters.begin(), characters.end());
  for (const std::string& character : characters) {
    tokens.push_back(absl::StrCat(kInner, character));
  }
  if (tokens.size() > static_cast<size_t>(options_.max_size)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the special tokens and the ", characters.size(), " characters of the texts need ",
        tokens.size(), " tokens; at most ", options_.max_size, " are allowed"));
  }
  std::vector<std::pair<int64_t, std::string>> ranked;  // by descending use, then bytewise
  for (const auto& [token, use] : uses) {
    if (use.count >= options_.min_count) ranked.emplace_back(-use.saved, token);
  }
  std::sort(ranked.begin(), ranked.end());
  for (auto& [use, token] : ranked) {
    if (tokens.size() == static_cast<size_t>(options_.max_size)) break;
    tokens.push_back(std::move(token));
  }
  return tokens;
}

}  // namespace sightline
