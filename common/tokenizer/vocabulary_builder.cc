#include "common/tokenizer/vocabulary_builder.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/tokenizer/basic_tokenizer.h"
#include "common/tokenizer/pair_merger.h"

namespace sightline {
namespace {

constexpr const char* kSpecialTokens[] = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};
constexpr char kInner[] = "##";

// Longer ones are noise (keyboards under cats); they get no token and teach no pieces.
constexpr size_t kMaxWordCharacters = 100;

// The characters of `word`, which is UTF-8, those after the first marked as inner.
std::vector<std::string> Characters(const std::string& word) {
  std::vector<std::string> characters;
  for (size_t i = 0; i < word.size();) {
    size_t end = i + 1;
    while (end < word.size() && (word[end] & 0xC0) == 0x80) ++end;
    characters.push_back(absl::StrCat(i == 0 ? "" : kInner, word.substr(i, end - i)));
    i = end;
  }
  return characters;
}

void AddBareCharacters(const std::vector<std::string>& of_word, std::set<std::string>* characters) {
  for (size_t i = 0; i < of_word.size(); ++i) {
    characters->insert(i == 0 ? of_word[i] : of_word[i].substr(sizeof(kInner) - 1));
  }
}

// "##" of what stands inside goes where it is joined to what stands before.
std::string JoinPieces(const std::string& left, const std::string& right) {
  return absl::StrCat(left, right.substr(sizeof(kInner) - 1));
}

// Tokens in order, each once.
class TokenList {
 public:
  explicit TokenList(size_t max_size) : max_size_(max_size) {}

  bool full() const { return tokens_.size() >= max_size_; }
  size_t size() const { return tokens_.size(); }
  void Add(const std::string& token) {
    if (!full() && known_.insert(token).second) tokens_.push_back(token);
  }
  std::vector<std::string> Take() { return std::move(tokens_); }

 private:
  const size_t max_size_;
  std::vector<std::string> tokens_;
  absl::flat_hash_set<std::string> known_;
};

}  // namespace

absl::Status VocabularyBuilder::Add(absl::string_view text) {
  ASSIGN_OR_RETURN(const std::vector<std::string> words, SplitIntoWords(text, options_.lowercase));
  for (const std::string& word : words) RETURN_IF_ERROR(own_.Add(word));
  return absl::OkStatus();
}

absl::Status VocabularyBuilder::AddBackground(absl::string_view text) {
  ASSIGN_OR_RETURN(const std::vector<std::string> words, SplitIntoWords(text, options_.lowercase));
  for (const std::string& word : words) RETURN_IF_ERROR(background_.Add(word));
  return absl::OkStatus();
}

absl::Status VocabularyBuilder::AddAlphabet(absl::string_view text) {
  ASSIGN_OR_RETURN(const std::vector<std::string> words, SplitIntoWords(text, options_.lowercase));
  for (const std::string& word : words) AddBareCharacters(Characters(word), &alphabet_);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> VocabularyBuilder::Build() const {
  struct Counts {
    int64_t own = 0;
    int64_t background = 0;
  };
  std::map<absl::string_view, Counts> words;
  for (const auto& [word, count] : own_.counts()) words[word].own = count;
  for (const auto& [word, count] : background_.counts()) words[word].background = count;
  std::set<std::string> characters = alphabet_;
  // By descending counts, then bytewise.
  std::vector<std::tuple<int64_t, int64_t, std::string>> frequent;
  std::vector<CountedWord> spelled;
  for (const auto& [view, counts] : words) {
    const std::string word(view);
    const std::vector<std::string> of_word = Characters(word);
    if (of_word.size() > kMaxWordCharacters) continue;
    AddBareCharacters(of_word, &characters);
    if (counts.own >= options_.min_count) {
      frequent.emplace_back(-counts.own, 0, word);
    } else if (counts.own + counts.background >= options_.min_count) {
      frequent.emplace_back(0, -(counts.own + counts.background), word);
    }
    spelled.push_back({word, counts.own + counts.background});
  }
  const size_t base = std::size(kSpecialTokens) + 2 * characters.size();
  if (base > static_cast<size_t>(options_.max_size)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the special tokens and the ", characters.size(),
                     " characters of the texts and the alphabet need ", base, " tokens; at most ",
                     options_.max_size, " are allowed"));
  }
  TokenList tokens(options_.max_size);
  for (const char* token : kSpecialTokens) tokens.Add(token);
  for (const std::string& character : characters) tokens.Add(character);
  for (const std::string& character : characters) tokens.Add(absl::StrCat(kInner, character));

  const size_t for_words =
      base + static_cast<size_t>(options_.word_share * (options_.max_size - base));
  std::sort(frequent.begin(), frequent.end());
  for (const auto& [own, background, word] : frequent) {
    if (tokens.size() >= for_words) break;
    tokens.Add(word);
  }
  PairMerger merger(JoinPieces, /*distinct=*/false);
  for (const CountedWord& word : MostFrequentWords(std::move(spelled))) {
    merger.AddWord(Characters(word.text), /*count=*/1);
  }
  while (!tokens.full()) {
    const auto piece = merger.MergeMostFrequent(options_.min_count);
    if (!piece.has_value()) break;
    tokens.Add(piece->joined);
  }
  return tokens.Take();
}

}  // namespace sightline
