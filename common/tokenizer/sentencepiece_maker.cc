#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/base/status_macros.h"
#include "common/tokenizer/charsmap.h"
#include "common/tokenizer/sentencepiece_model.h"
#include "common/tokenizer/sentencepiece_normalizer.h"
#include "common/tokenizer/unicode.h"
#include "common/tokenizer/unigram_learner.h"
#include "common/tokenizer/vocabulary_kinds.h"
#include "common/tokenizer/word_counter.h"

namespace sightline {
namespace {

using Type = SentencePieceModel::Type;

// Stands before each word.
constexpr absl::string_view kWordStart = "\u2581";
// <unk>, <s>, </s> of the file; and <pad> and <mask>, which XLM-R has beside it.
constexpr size_t kSpecialCount = 5;
// Longer ones are noise, as in vocabulary_builder.h.
constexpr size_t kMaxWordCharacters = 100;
// Rules make one eleven times as long at most, in memory beside it.
constexpr size_t kMaxTextBytes = size_t{1} << 20;

std::vector<std::string> CharactersOf(absl::string_view text) {
  std::vector<std::string> characters;
  for (int64_t begin = 0, end = 0; begin < static_cast<int64_t>(text.size()); begin = end) {
    NextCodePoint(text, &end);
    characters.emplace_back(text.substr(begin, end - begin));
  }
  return characters;
}

constexpr absl::string_view kZero("\0", 1);

// Whether something is learnt from a word of these.  No rule removes zero bytes, and who reads a
// model as C does ends there.
bool IsLearnt(const std::vector<std::string>& characters) {
  return characters.size() <= kMaxWordCharacters &&
         std::find(characters.begin(), characters.end(), kZero) == characters.end();
}

class SentencePieceMaker : public VocabularyMaker {
 public:
  SentencePieceMaker(const VocabularyOptions& options, SentencePieceModel model,
                     std::unique_ptr<SentencePieceNormalizer> normalizer)
      : options_(options), model_(std::move(model)), normalizer_(std::move(normalizer)) {}

  absl::Status Add(absl::string_view text) override {
    RETURN_IF_ERROR(CheckText(text));
    if (text.size() > kMaxTextBytes) {
      return absl::InvalidArgumentError(absl::StrCat("a text of ", text.size(),
                                                     " bytes, of at most ", kMaxTextBytes,
                                                     "; is it one sentence a line?"));
    }
    for (const std::string& word : WordsOf(text)) RETURN_IF_ERROR(words_.Add(word));
    return absl::OkStatus();
  }

  absl::Status AddAlphabet(absl::string_view text) override {
    RETURN_IF_ERROR(CheckText(text));
    for (const std::string& word : WordsOf(text)) {
      for (std::string& character : CharactersOf(word)) {
        if (character != kZero) alphabet_.insert(std::move(character));
      }
    }
    return absl::OkStatus();
  }

  int64_t word_count() const override { return words_.total(); }

  absl::StatusOr<MadeVocabulary> Make() const override {
    std::vector<CountedWord> words;
    std::set<std::string> characters = alphabet_;
    for (CountedWord& word : MostFrequentWords(CountedWordsOf(words_))) {
      std::vector<std::string> of_word = CharactersOf(word.text);
      if (!IsLearnt(of_word)) continue;
      for (std::string& character : of_word) characters.insert(std::move(character));
      words.push_back(std::move(word));
    }
    if (words.empty()) return NothingFrequent(/*min_count=*/1);
    const size_t least = characters.size() + kSpecialCount;
    if (static_cast<size_t>(options_.max_size) < least) {
      return VocabularyTooSmall(options_.max_size, least,
                                absl::StrCat("the special tokens and the ", characters.size(),
                                             " characters of the texts and the alphabet"));
    }
    UnigramOptions unigram;
    unigram.size = static_cast<size_t>(options_.max_size) - kSpecialCount;
    unigram.min_count = options_.min_count;
    return FileOf(LearnUnigramPieces(words, characters, unigram));
  }

 private:
  // As they are cut into pieces: normalised, each with its mark.
  std::vector<std::string> WordsOf(absl::string_view text) const {
    const std::string normalized = normalizer_->Normalize(text);
    std::vector<std::string> words;
    for (size_t begin = 0; begin < normalized.size();) {
      const size_t end = std::min(normalized.find(kWordStart.data(), begin + 1), normalized.size());
      words.push_back(normalized.substr(begin, end - begin));
      begin = end;
    }
    return words;
  }

  MadeVocabulary FileOf(const std::vector<UnigramPiece>& pieces) const {
    SentencePieceModel model = model_;
    model.pieces = {
        {"<unk>", 0, Type::kUnknown}, {"<s>", 0, Type::kControl}, {"</s>", 0, Type::kControl}};
    for (const UnigramPiece& piece : pieces) {
      model.pieces.push_back(
          {piece.text, static_cast<float>(piece.log_probability), Type::kNormal});
    }
    return {SerializeSentencePieceModel(model), static_cast<int>(pieces.size() + kSpecialCount)};
  }

  const VocabularyOptions options_;
  const SentencePieceModel model_;  // without pieces
  const std::unique_ptr<SentencePieceNormalizer> normalizer_;
  WordCounter words_;
  std::set<std::string> alphabet_;
};

}  // namespace

NewMaker NewSentencePieceMaker(const VocabularyOptions& options) {
  ASSIGN_OR_RETURN(const NormalizationRules rules, NfkcRules());
  SentencePieceModel model;
  ASSIGN_OR_RETURN(model.charsmap, CompileCharsmap(rules));
  ASSIGN_OR_RETURN(auto normalizer, SentencePieceNormalizer::Create(model));
  return std::make_unique<SentencePieceMaker>(options, std::move(model), std::move(normalizer));
}

}  // namespace sightline
