#include "common/tokenizer/vocabulary_builder.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/tokenizer/basic_tokenizer.h"

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

// Words as rows of pieces that grow together.
class PairMerger {
 public:
  void AddWord(const std::vector<std::string>& characters) {
    std::vector<int> word;
    for (const std::string& character : characters) word.push_back(PieceId(character));
    words_.push_back(std::move(word));
    CountPairs(static_cast<int>(words_.size()) - 1, +1);
  }

  // Joins the most frequent pair wherever it is and returns the piece that it became; an
  // empty one when no pair is there `min_count` times.
  std::string MergeMostFrequent(int64_t min_count) {
    const Pair* best = nullptr;
    std::string best_text;
    for (const auto& [pair, places] : pairs_) {
      const int64_t best_count = best == nullptr ? min_count : pairs_.at(*best).count;
      if (places.count < best_count) continue;
      std::string text = Joined(pair);
      if (best != nullptr && places.count == best_count && text >= best_text) continue;
      best = &pair;
      best_text = std::move(text);
    }
    if (best != nullptr) Merge(Pair(*best), PieceId(best_text));
    return best_text;
  }

 private:
  using Pair = std::pair<int, int>;
  struct Places {
    int64_t count = 0;
    std::set<int> words;
  };

  int PieceId(const std::string& text) {
    const auto [found, added] = ids_.emplace(text, static_cast<int>(pieces_.size()));
    if (added) pieces_.push_back(text);
    return found->second;
  }

  std::string Joined(const Pair& pair) const {
    return absl::StrCat(pieces_[pair.first], pieces_[pair.second].substr(sizeof(kInner) - 1));
  }

  void CountPairs(int index, int64_t step) {
    const std::vector<int>& word = words_[index];
    for (size_t i = 0; i + 1 < word.size(); ++i) {
      const auto found = pairs_.try_emplace({word[i], word[i + 1]}).first;
      found->second.count += step;
      if (found->second.count == 0) {
        pairs_.erase(found);
      } else if (step > 0) {
        found->second.words.insert(index);
      }
    }
  }

  void Merge(const Pair& pair, int piece) {
    // A copy: counting changes the original.  Words that lost the pair meanwhile are found
    // without it and stay as they are.
    const std::set<int> indices = pairs_.at(pair).words;
    for (int index : indices) {
      CountPairs(index, -1);
      std::vector<int>& word = words_[index];
      std::vector<int> merged;
      for (size_t i = 0; i < word.size(); ++i) {
        const bool here =
            i + 1 < word.size() && word[i] == pair.first && word[i + 1] == pair.second;
        merged.push_back(here ? piece : word[i]);
        i += here;
      }
      word = std::move(merged);
      CountPairs(index, +1);
    }
  }

  std::vector<std::string> pieces_;
  std::map<std::string, int> ids_;
  std::vector<std::vector<int>> words_;
  std::map<Pair, Places> pairs_;
};

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
  ASSIGN_OR_RETURN(std::vector<std::string> words, SplitIntoWords(text, options_.lowercase));
  word_count_ += static_cast<int64_t>(words.size());
  for (std::string& word : words) ++words_[std::move(word)].own;
  return absl::OkStatus();
}

absl::Status VocabularyBuilder::AddBackground(absl::string_view text) {
  ASSIGN_OR_RETURN(std::vector<std::string> words, SplitIntoWords(text, options_.lowercase));
  for (std::string& word : words) ++words_[std::move(word)].background;
  return absl::OkStatus();
}

absl::Status VocabularyBuilder::AddAlphabet(absl::string_view text) {
  ASSIGN_OR_RETURN(const std::vector<std::string> words, SplitIntoWords(text, options_.lowercase));
  for (const std::string& word : words) AddBareCharacters(Characters(word), &alphabet_);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> VocabularyBuilder::Build() const {
  std::set<std::string> characters = alphabet_;
  // By descending counts, then bytewise.
  std::vector<std::tuple<int64_t, int64_t, std::string>> frequent;
  PairMerger merger;
  for (const auto& [word, counts] : words_) {
    const std::vector<std::string> of_word = Characters(word);
    if (of_word.size() > kMaxWordCharacters) continue;
    AddBareCharacters(of_word, &characters);
    if (counts.own >= options_.min_count) {
      frequent.emplace_back(-counts.own, 0, word);
    } else if (counts.own + counts.background >= options_.min_count) {
      frequent.emplace_back(0, -(counts.own + counts.background), word);
    }
    merger.AddWord(of_word);
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
  while (!tokens.full()) {
    const std::string piece = merger.MergeMostFrequent(options_.min_count);
    if (piece.empty()) break;
    tokens.Add(piece);
  }
  return tokens.Take();
}

}  // namespace sightline
